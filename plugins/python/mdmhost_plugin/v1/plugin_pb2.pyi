from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class On(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_NOT_NEEDED: _ClassVar[On]
    ON_MODEL: _ClassVar[On]
    ON_SAMPLING: _ClassVar[On]
    ON_TEMPERED: _ClassVar[On]
    ON_NOISED: _ClassVar[On]

class Fill(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILL_NONE: _ClassVar[Fill]
    FILL_ARGMAX: _ClassVar[Fill]
    FILL_DRAW: _ClassVar[Fill]
ON_NOT_NEEDED: On
ON_MODEL: On
ON_SAMPLING: On
ON_TEMPERED: On
ON_NOISED: On
FILL_NONE: Fill
FILL_ARGMAX: Fill
FILL_DRAW: Fill

class Error(_message.Message):
    __slots__ = ("code", "object", "problem", "hint")
    CODE_FIELD_NUMBER: _ClassVar[int]
    OBJECT_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    HINT_FIELD_NUMBER: _ClassVar[int]
    code: str
    object: str
    problem: str
    hint: str
    def __init__(self, code: _Optional[str] = ..., object: _Optional[str] = ..., problem: _Optional[str] = ..., hint: _Optional[str] = ...) -> None: ...

class Needs(_message.Message):
    __slots__ = ("proposal", "logp_proposal", "p1", "p2", "entropy", "logp_current", "kl_prev", "planner_score", "uniform", "gumbel", "topk", "vocab_dot", "insertion_rate", "unmask_rate", "frozen_gap", "logp_leave_one_out", "logits", "peaks_on")
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    LOGP_PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    P1_FIELD_NUMBER: _ClassVar[int]
    P2_FIELD_NUMBER: _ClassVar[int]
    ENTROPY_FIELD_NUMBER: _ClassVar[int]
    LOGP_CURRENT_FIELD_NUMBER: _ClassVar[int]
    KL_PREV_FIELD_NUMBER: _ClassVar[int]
    PLANNER_SCORE_FIELD_NUMBER: _ClassVar[int]
    UNIFORM_FIELD_NUMBER: _ClassVar[int]
    GUMBEL_FIELD_NUMBER: _ClassVar[int]
    TOPK_FIELD_NUMBER: _ClassVar[int]
    VOCAB_DOT_FIELD_NUMBER: _ClassVar[int]
    INSERTION_RATE_FIELD_NUMBER: _ClassVar[int]
    UNMASK_RATE_FIELD_NUMBER: _ClassVar[int]
    FROZEN_GAP_FIELD_NUMBER: _ClassVar[int]
    LOGP_LEAVE_ONE_OUT_FIELD_NUMBER: _ClassVar[int]
    LOGITS_FIELD_NUMBER: _ClassVar[int]
    PEAKS_ON_FIELD_NUMBER: _ClassVar[int]
    proposal: bool
    logp_proposal: On
    p1: bool
    p2: bool
    entropy: On
    logp_current: bool
    kl_prev: bool
    planner_score: bool
    uniform: bool
    gumbel: bool
    topk: int
    vocab_dot: _containers.RepeatedScalarFieldContainer[bytes]
    insertion_rate: bool
    unmask_rate: bool
    frozen_gap: bool
    logp_leave_one_out: bool
    logits: bool
    peaks_on: On
    def __init__(self, proposal: _Optional[bool] = ..., logp_proposal: _Optional[_Union[On, str]] = ..., p1: _Optional[bool] = ..., p2: _Optional[bool] = ..., entropy: _Optional[_Union[On, str]] = ..., logp_current: _Optional[bool] = ..., kl_prev: _Optional[bool] = ..., planner_score: _Optional[bool] = ..., uniform: _Optional[bool] = ..., gumbel: _Optional[bool] = ..., topk: _Optional[int] = ..., vocab_dot: _Optional[_Iterable[bytes]] = ..., insertion_rate: _Optional[bool] = ..., unmask_rate: _Optional[bool] = ..., frozen_gap: _Optional[bool] = ..., logp_leave_one_out: _Optional[bool] = ..., logits: _Optional[bool] = ..., peaks_on: _Optional[_Union[On, str]] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeReply(_message.Message):
    __slots__ = ("kind", "name", "version", "summary", "needs", "options_schema", "can_remask", "can_insert", "adaptive", "pure")
    KIND_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    CAN_REMASK_FIELD_NUMBER: _ClassVar[int]
    CAN_INSERT_FIELD_NUMBER: _ClassVar[int]
    ADAPTIVE_FIELD_NUMBER: _ClassVar[int]
    PURE_FIELD_NUMBER: _ClassVar[int]
    kind: str
    name: str
    version: str
    summary: str
    needs: Needs
    options_schema: str
    can_remask: bool
    can_insert: bool
    adaptive: bool
    pure: bool
    def __init__(self, kind: _Optional[str] = ..., name: _Optional[str] = ..., version: _Optional[str] = ..., summary: _Optional[str] = ..., needs: _Optional[_Union[Needs, _Mapping]] = ..., options_schema: _Optional[str] = ..., can_remask: _Optional[bool] = ..., can_insert: _Optional[bool] = ..., adaptive: _Optional[bool] = ..., pure: _Optional[bool] = ...) -> None: ...

class Capabilities(_message.Message):
    __slots__ = ("serves", "vocab_dots", "state", "max_rows", "fixed_rows", "max_length", "fixed_length", "padding", "v", "runtime", "provider")
    SERVES_FIELD_NUMBER: _ClassVar[int]
    VOCAB_DOTS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    FIXED_ROWS_FIELD_NUMBER: _ClassVar[int]
    MAX_LENGTH_FIELD_NUMBER: _ClassVar[int]
    FIXED_LENGTH_FIELD_NUMBER: _ClassVar[int]
    PADDING_FIELD_NUMBER: _ClassVar[int]
    V_FIELD_NUMBER: _ClassVar[int]
    RUNTIME_FIELD_NUMBER: _ClassVar[int]
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    serves: Needs
    vocab_dots: int
    state: bool
    max_rows: int
    fixed_rows: int
    max_length: int
    fixed_length: int
    padding: bool
    v: int
    runtime: str
    provider: str
    def __init__(self, serves: _Optional[_Union[Needs, _Mapping]] = ..., vocab_dots: _Optional[int] = ..., state: _Optional[bool] = ..., max_rows: _Optional[int] = ..., fixed_rows: _Optional[int] = ..., max_length: _Optional[int] = ..., fixed_length: _Optional[int] = ..., padding: _Optional[bool] = ..., v: _Optional[int] = ..., runtime: _Optional[str] = ..., provider: _Optional[str] = ...) -> None: ...

class StartRequest(_message.Message):
    __slots__ = ("run", "options", "capabilities", "mask_id", "v", "temperature", "keeps_written", "insertion", "exponents")
    RUN_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    MASK_ID_FIELD_NUMBER: _ClassVar[int]
    V_FIELD_NUMBER: _ClassVar[int]
    TEMPERATURE_FIELD_NUMBER: _ClassVar[int]
    KEEPS_WRITTEN_FIELD_NUMBER: _ClassVar[int]
    INSERTION_FIELD_NUMBER: _ClassVar[int]
    EXPONENTS_FIELD_NUMBER: _ClassVar[int]
    run: str
    options: bytes
    capabilities: Capabilities
    mask_id: int
    v: int
    temperature: float
    keeps_written: bool
    insertion: Insertion
    exponents: bytes
    def __init__(self, run: _Optional[str] = ..., options: _Optional[bytes] = ..., capabilities: _Optional[_Union[Capabilities, _Mapping]] = ..., mask_id: _Optional[int] = ..., v: _Optional[int] = ..., temperature: _Optional[float] = ..., keeps_written: _Optional[bool] = ..., insertion: _Optional[_Union[Insertion, _Mapping]] = ..., exponents: _Optional[bytes] = ...) -> None: ...

class Insertion(_message.Message):
    __slots__ = ("gap", "cap", "a")
    GAP_FIELD_NUMBER: _ClassVar[int]
    CAP_FIELD_NUMBER: _ClassVar[int]
    A_FIELD_NUMBER: _ClassVar[int]
    gap: str
    cap: int
    a: float
    def __init__(self, gap: _Optional[str] = ..., cap: _Optional[int] = ..., a: _Optional[float] = ...) -> None: ...

class StartReply(_message.Message):
    __slots__ = ("needs",)
    NEEDS_FIELD_NUMBER: _ClassVar[int]
    needs: Needs
    def __init__(self, needs: _Optional[_Union[Needs, _Mapping]] = ...) -> None: ...

class EndRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EndReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Step(_message.Message):
    __slots__ = ("run", "index", "slot", "offset", "n", "blanks", "step", "steps", "t", "s", "alpha_t", "alpha_s", "token", "flags", "proposal", "logp_proposal", "p1", "p2", "entropy", "logp_current", "kl_prev", "planner_score", "uniform", "gumbel", "k", "top_ids", "top_logp", "c", "vocab_dot", "unmask_rate", "logp_leave_one_out", "insertion_rate", "frozen_gap", "logits", "length", "behind", "gap_uniform", "room")
    RUN_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    SLOT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    N_FIELD_NUMBER: _ClassVar[int]
    BLANKS_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    T_FIELD_NUMBER: _ClassVar[int]
    S_FIELD_NUMBER: _ClassVar[int]
    ALPHA_T_FIELD_NUMBER: _ClassVar[int]
    ALPHA_S_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    LOGP_PROPOSAL_FIELD_NUMBER: _ClassVar[int]
    P1_FIELD_NUMBER: _ClassVar[int]
    P2_FIELD_NUMBER: _ClassVar[int]
    ENTROPY_FIELD_NUMBER: _ClassVar[int]
    LOGP_CURRENT_FIELD_NUMBER: _ClassVar[int]
    KL_PREV_FIELD_NUMBER: _ClassVar[int]
    PLANNER_SCORE_FIELD_NUMBER: _ClassVar[int]
    UNIFORM_FIELD_NUMBER: _ClassVar[int]
    GUMBEL_FIELD_NUMBER: _ClassVar[int]
    K_FIELD_NUMBER: _ClassVar[int]
    TOP_IDS_FIELD_NUMBER: _ClassVar[int]
    TOP_LOGP_FIELD_NUMBER: _ClassVar[int]
    C_FIELD_NUMBER: _ClassVar[int]
    VOCAB_DOT_FIELD_NUMBER: _ClassVar[int]
    UNMASK_RATE_FIELD_NUMBER: _ClassVar[int]
    LOGP_LEAVE_ONE_OUT_FIELD_NUMBER: _ClassVar[int]
    INSERTION_RATE_FIELD_NUMBER: _ClassVar[int]
    FROZEN_GAP_FIELD_NUMBER: _ClassVar[int]
    LOGITS_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    BEHIND_FIELD_NUMBER: _ClassVar[int]
    GAP_UNIFORM_FIELD_NUMBER: _ClassVar[int]
    ROOM_FIELD_NUMBER: _ClassVar[int]
    run: str
    index: _containers.RepeatedScalarFieldContainer[int]
    slot: _containers.RepeatedScalarFieldContainer[int]
    offset: _containers.RepeatedScalarFieldContainer[int]
    n: _containers.RepeatedScalarFieldContainer[int]
    blanks: _containers.RepeatedScalarFieldContainer[int]
    step: _containers.RepeatedScalarFieldContainer[int]
    steps: _containers.RepeatedScalarFieldContainer[int]
    t: _containers.RepeatedScalarFieldContainer[float]
    s: _containers.RepeatedScalarFieldContainer[float]
    alpha_t: _containers.RepeatedScalarFieldContainer[float]
    alpha_s: _containers.RepeatedScalarFieldContainer[float]
    token: bytes
    flags: bytes
    proposal: bytes
    logp_proposal: bytes
    p1: bytes
    p2: bytes
    entropy: bytes
    logp_current: bytes
    kl_prev: bytes
    planner_score: bytes
    uniform: bytes
    gumbel: bytes
    k: int
    top_ids: bytes
    top_logp: bytes
    c: int
    vocab_dot: bytes
    unmask_rate: bytes
    logp_leave_one_out: bytes
    insertion_rate: bytes
    frozen_gap: bytes
    logits: Logits
    length: _containers.RepeatedScalarFieldContainer[int]
    behind: _containers.RepeatedScalarFieldContainer[int]
    gap_uniform: bytes
    room: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, run: _Optional[str] = ..., index: _Optional[_Iterable[int]] = ..., slot: _Optional[_Iterable[int]] = ..., offset: _Optional[_Iterable[int]] = ..., n: _Optional[_Iterable[int]] = ..., blanks: _Optional[_Iterable[int]] = ..., step: _Optional[_Iterable[int]] = ..., steps: _Optional[_Iterable[int]] = ..., t: _Optional[_Iterable[float]] = ..., s: _Optional[_Iterable[float]] = ..., alpha_t: _Optional[_Iterable[float]] = ..., alpha_s: _Optional[_Iterable[float]] = ..., token: _Optional[bytes] = ..., flags: _Optional[bytes] = ..., proposal: _Optional[bytes] = ..., logp_proposal: _Optional[bytes] = ..., p1: _Optional[bytes] = ..., p2: _Optional[bytes] = ..., entropy: _Optional[bytes] = ..., logp_current: _Optional[bytes] = ..., kl_prev: _Optional[bytes] = ..., planner_score: _Optional[bytes] = ..., uniform: _Optional[bytes] = ..., gumbel: _Optional[bytes] = ..., k: _Optional[int] = ..., top_ids: _Optional[bytes] = ..., top_logp: _Optional[bytes] = ..., c: _Optional[int] = ..., vocab_dot: _Optional[bytes] = ..., unmask_rate: _Optional[bytes] = ..., logp_leave_one_out: _Optional[bytes] = ..., insertion_rate: _Optional[bytes] = ..., frozen_gap: _Optional[bytes] = ..., logits: _Optional[_Union[Logits, _Mapping]] = ..., length: _Optional[_Iterable[int]] = ..., behind: _Optional[_Iterable[int]] = ..., gap_uniform: _Optional[bytes] = ..., room: _Optional[_Iterable[int]] = ...) -> None: ...

class Logits(_message.Message):
    __slots__ = ("v", "shared_bytes", "offset", "bytes")
    V_FIELD_NUMBER: _ClassVar[int]
    SHARED_BYTES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    v: int
    shared_bytes: int
    offset: _containers.RepeatedScalarFieldContainer[int]
    bytes: bytes
    def __init__(self, v: _Optional[int] = ..., shared_bytes: _Optional[int] = ..., offset: _Optional[_Iterable[int]] = ..., bytes: _Optional[bytes] = ...) -> None: ...

class PlanRequest(_message.Message):
    __slots__ = ("step",)
    STEP_FIELD_NUMBER: _ClassVar[int]
    step: Step
    def __init__(self, step: _Optional[_Union[Step, _Mapping]] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("open", "overwrite_position", "overwrite_token", "remask", "delete", "insert_gap", "insert_count", "fill", "acted_as", "next_t", "done", "metrics", "go_on", "refused")
    class MetricsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: float
        def __init__(self, key: _Optional[str] = ..., value: _Optional[float] = ...) -> None: ...
    OPEN_FIELD_NUMBER: _ClassVar[int]
    OVERWRITE_POSITION_FIELD_NUMBER: _ClassVar[int]
    OVERWRITE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REMASK_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    INSERT_GAP_FIELD_NUMBER: _ClassVar[int]
    INSERT_COUNT_FIELD_NUMBER: _ClassVar[int]
    FILL_FIELD_NUMBER: _ClassVar[int]
    ACTED_AS_FIELD_NUMBER: _ClassVar[int]
    NEXT_T_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    GO_ON_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    open: _containers.RepeatedScalarFieldContainer[int]
    overwrite_position: _containers.RepeatedScalarFieldContainer[int]
    overwrite_token: _containers.RepeatedScalarFieldContainer[int]
    remask: _containers.RepeatedScalarFieldContainer[int]
    delete: _containers.RepeatedScalarFieldContainer[int]
    insert_gap: _containers.RepeatedScalarFieldContainer[int]
    insert_count: _containers.RepeatedScalarFieldContainer[int]
    fill: Fill
    acted_as: int
    next_t: float
    done: bool
    metrics: _containers.ScalarMap[str, float]
    go_on: bool
    refused: int
    def __init__(self, open: _Optional[_Iterable[int]] = ..., overwrite_position: _Optional[_Iterable[int]] = ..., overwrite_token: _Optional[_Iterable[int]] = ..., remask: _Optional[_Iterable[int]] = ..., delete: _Optional[_Iterable[int]] = ..., insert_gap: _Optional[_Iterable[int]] = ..., insert_count: _Optional[_Iterable[int]] = ..., fill: _Optional[_Union[Fill, str]] = ..., acted_as: _Optional[int] = ..., next_t: _Optional[float] = ..., done: _Optional[bool] = ..., metrics: _Optional[_Mapping[str, float]] = ..., go_on: _Optional[bool] = ..., refused: _Optional[int] = ...) -> None: ...

class PlanReply(_message.Message):
    __slots__ = ("decisions",)
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    def __init__(self, decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ...) -> None: ...

class SampleRequest(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: int
    def __init__(self, session: _Optional[int] = ...) -> None: ...

class SampleReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RowState(_message.Message):
    __slots__ = ("slot", "index", "step", "steps", "blanks", "masked", "length", "done", "next_t", "room")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    BLANKS_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    NEXT_T_FIELD_NUMBER: _ClassVar[int]
    ROOM_FIELD_NUMBER: _ClassVar[int]
    slot: int
    index: int
    step: int
    steps: int
    blanks: int
    masked: int
    length: int
    done: bool
    next_t: float
    room: int
    def __init__(self, slot: _Optional[int] = ..., index: _Optional[int] = ..., step: _Optional[int] = ..., steps: _Optional[int] = ..., blanks: _Optional[int] = ..., masked: _Optional[int] = ..., length: _Optional[int] = ..., done: _Optional[bool] = ..., next_t: _Optional[float] = ..., room: _Optional[int] = ...) -> None: ...

class RowStates(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[RowState]
    def __init__(self, rows: _Optional[_Iterable[_Union[RowState, _Mapping]]] = ...) -> None: ...

class Advance(_message.Message):
    __slots__ = ("slot", "t", "s", "alpha_t", "alpha_s", "ahead", "trial_position", "trial_token")
    SLOT_FIELD_NUMBER: _ClassVar[int]
    T_FIELD_NUMBER: _ClassVar[int]
    S_FIELD_NUMBER: _ClassVar[int]
    ALPHA_T_FIELD_NUMBER: _ClassVar[int]
    ALPHA_S_FIELD_NUMBER: _ClassVar[int]
    AHEAD_FIELD_NUMBER: _ClassVar[int]
    TRIAL_POSITION_FIELD_NUMBER: _ClassVar[int]
    TRIAL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    slot: int
    t: float
    s: float
    alpha_t: float
    alpha_s: float
    ahead: _containers.RepeatedScalarFieldContainer[float]
    trial_position: _containers.RepeatedScalarFieldContainer[int]
    trial_token: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, slot: _Optional[int] = ..., t: _Optional[float] = ..., s: _Optional[float] = ..., alpha_t: _Optional[float] = ..., alpha_s: _Optional[float] = ..., ahead: _Optional[_Iterable[float]] = ..., trial_position: _Optional[_Iterable[int]] = ..., trial_token: _Optional[_Iterable[int]] = ...) -> None: ...

class AdmitRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class AdvanceRequest(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _containers.RepeatedCompositeFieldContainer[Advance]
    def __init__(self, rows: _Optional[_Iterable[_Union[Advance, _Mapping]]] = ...) -> None: ...

class SessionPlanRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ApplyRequest(_message.Message):
    __slots__ = ("decisions",)
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    decisions: _containers.RepeatedCompositeFieldContainer[Decision]
    def __init__(self, decisions: _Optional[_Iterable[_Union[Decision, _Mapping]]] = ...) -> None: ...

class EmitRequest(_message.Message):
    __slots__ = ("slots",)
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    slots: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, slots: _Optional[_Iterable[int]] = ...) -> None: ...

class EmitReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Port(_message.Message):
    __slots__ = ("name", "type", "shape")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: int
    shape: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., type: _Optional[int] = ..., shape: _Optional[_Iterable[str]] = ...) -> None: ...

class Signature(_message.Message):
    __slots__ = ("inputs", "outputs")
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    OUTPUTS_FIELD_NUMBER: _ClassVar[int]
    inputs: _containers.RepeatedCompositeFieldContainer[Port]
    outputs: _containers.RepeatedCompositeFieldContainer[Port]
    def __init__(self, inputs: _Optional[_Iterable[_Union[Port, _Mapping]]] = ..., outputs: _Optional[_Iterable[_Union[Port, _Mapping]]] = ...) -> None: ...

class BuildRequest(_message.Message):
    __slots__ = ("options", "v", "mask_id", "pad_id", "suppressed", "rows", "length", "denoiser", "opset")
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    V_FIELD_NUMBER: _ClassVar[int]
    MASK_ID_FIELD_NUMBER: _ClassVar[int]
    PAD_ID_FIELD_NUMBER: _ClassVar[int]
    SUPPRESSED_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    DENOISER_FIELD_NUMBER: _ClassVar[int]
    OPSET_FIELD_NUMBER: _ClassVar[int]
    options: bytes
    v: int
    mask_id: int
    pad_id: int
    suppressed: _containers.RepeatedScalarFieldContainer[int]
    rows: int
    length: int
    denoiser: Signature
    opset: int
    def __init__(self, options: _Optional[bytes] = ..., v: _Optional[int] = ..., mask_id: _Optional[int] = ..., pad_id: _Optional[int] = ..., suppressed: _Optional[_Iterable[int]] = ..., rows: _Optional[int] = ..., length: _Optional[int] = ..., denoiser: _Optional[_Union[Signature, _Mapping]] = ..., opset: _Optional[int] = ...) -> None: ...

class Network(_message.Message):
    __slots__ = ("name", "signature", "init", "frozen", "share_with")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    SHARE_WITH_FIELD_NUMBER: _ClassVar[int]
    name: str
    signature: Signature
    init: str
    frozen: bool
    share_with: str
    def __init__(self, name: _Optional[str] = ..., signature: _Optional[_Union[Signature, _Mapping]] = ..., init: _Optional[str] = ..., frozen: _Optional[bool] = ..., share_with: _Optional[str] = ...) -> None: ...

class Param(_message.Message):
    __slots__ = ("name", "shape", "init", "value", "scale")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    INIT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SCALE_FIELD_NUMBER: _ClassVar[int]
    name: str
    shape: _containers.RepeatedScalarFieldContainer[int]
    init: str
    value: float
    scale: float
    def __init__(self, name: _Optional[str] = ..., shape: _Optional[_Iterable[int]] = ..., init: _Optional[str] = ..., value: _Optional[float] = ..., scale: _Optional[float] = ...) -> None: ...

class Group(_message.Message):
    __slots__ = ("match", "lr", "decay")
    MATCH_FIELD_NUMBER: _ClassVar[int]
    LR_FIELD_NUMBER: _ClassVar[int]
    DECAY_FIELD_NUMBER: _ClassVar[int]
    match: str
    lr: float
    decay: float
    def __init__(self, match: _Optional[str] = ..., lr: _Optional[float] = ..., decay: _Optional[float] = ...) -> None: ...

class TrainerInput(_message.Message):
    __slots__ = ("name", "kind", "shape", "sampler", "eps")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    SHAPE_FIELD_NUMBER: _ClassVar[int]
    SAMPLER_FIELD_NUMBER: _ClassVar[int]
    EPS_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    shape: _containers.RepeatedScalarFieldContainer[str]
    sampler: str
    eps: float
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., shape: _Optional[_Iterable[str]] = ..., sampler: _Optional[str] = ..., eps: _Optional[float] = ...) -> None: ...

class Schedule(_message.Message):
    __slots__ = ("kind", "c", "b_min", "b_max", "a", "b", "eps")
    KIND_FIELD_NUMBER: _ClassVar[int]
    C_FIELD_NUMBER: _ClassVar[int]
    B_MIN_FIELD_NUMBER: _ClassVar[int]
    B_MAX_FIELD_NUMBER: _ClassVar[int]
    A_FIELD_NUMBER: _ClassVar[int]
    B_FIELD_NUMBER: _ClassVar[int]
    EPS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    c: float
    b_min: float
    b_max: float
    a: float
    b: float
    eps: float
    def __init__(self, kind: _Optional[str] = ..., c: _Optional[float] = ..., b_min: _Optional[float] = ..., b_max: _Optional[float] = ..., a: _Optional[float] = ..., b: _Optional[float] = ..., eps: _Optional[float] = ...) -> None: ...

class BuildReply(_message.Message):
    __slots__ = ("networks", "params", "groups", "inputs", "bound", "training_graph", "eval_graph", "summary", "schedule")
    NETWORKS_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    INPUTS_FIELD_NUMBER: _ClassVar[int]
    BOUND_FIELD_NUMBER: _ClassVar[int]
    TRAINING_GRAPH_FIELD_NUMBER: _ClassVar[int]
    EVAL_GRAPH_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    SCHEDULE_FIELD_NUMBER: _ClassVar[int]
    networks: _containers.RepeatedCompositeFieldContainer[Network]
    params: _containers.RepeatedCompositeFieldContainer[Param]
    groups: _containers.RepeatedCompositeFieldContainer[Group]
    inputs: _containers.RepeatedCompositeFieldContainer[TrainerInput]
    bound: str
    training_graph: bytes
    eval_graph: bytes
    summary: str
    schedule: Schedule
    def __init__(self, networks: _Optional[_Iterable[_Union[Network, _Mapping]]] = ..., params: _Optional[_Iterable[_Union[Param, _Mapping]]] = ..., groups: _Optional[_Iterable[_Union[Group, _Mapping]]] = ..., inputs: _Optional[_Iterable[_Union[TrainerInput, _Mapping]]] = ..., bound: _Optional[str] = ..., training_graph: _Optional[bytes] = ..., eval_graph: _Optional[bytes] = ..., summary: _Optional[str] = ..., schedule: _Optional[_Union[Schedule, _Mapping]] = ...) -> None: ...

package spec

import (
	"path"
	"strings"

	"github.com/mdmhost/mdmhost/framework/graph"
)

// Spec says what the graphs of a trainer need.
type Spec struct {
	Networks []Network
	Params   []Param
	Groups   []Group
	Inputs   []Input // of both graphs; a graph takes those that it declares
	Bound    BoundKind
}

// Denoiser is the name of the network that is trained and then sampled from.
const Denoiser = "denoiser"

// Network is a network that the graphs call by name. One of the denoiser's signature is a copy of it. One that gives keep, float32
// [B, L], is a planner's of the framework's own, of the size that the run's settings say; its inputs are input_ids,
// attention_mask and, if it is to see them, masked, int64 [B, L]. A planner that gives logits is the denoiser's copy, or the
// model that the run names. Where the denoiser is frozen the first network that is not is what a run makes a model of.
type Network struct {
	Name      string
	Signature graph.Signature
	Init      string // where its parameters come from: "" as the run says, "fresh", or the name of a network that is copied at the start
	Frozen    bool   // no gradients, no updates
	ShareWith string // the network whose parameters of the same names and shapes are this one's, too; "" for none
}

// Fresh is an Init: newly drawn parameters, whatever the run starts from.
const Fresh = "fresh"

// Param is a parameter outside of the networks, float32, such as GenMD4's exponents [V]. It is an input of the graphs.
type Param struct {
	Name  string
	Shape []int64
	Init  Init
}

// Init says how a parameter starts.
type Init struct {
	Kind  string  // constant, normal or uniform; "" is constant
	Value float64 // the constant, or the mean
	Scale float64 // standard deviation of normal; uniform lies in [Value - Scale, Value + Scale]
}

// Group gives parameters a learning rate and a weight decay of their own. A parameter belongs to the first group that matches
// its name; without one, both factors are 1.
type Group struct {
	// Match is compared with names of parameters: those of a network are "NETWORK.NAME", others as in Params. "*" stands for
	// anything, dots and slashes included.
	Match string
	LR    float64 // factor on the run's learning rate; 0 freezes
	Decay float64 // factor on the run's weight decay; 0 leaves it out
}

// Matches tells whether the group is for the parameter of that name.
func (g *Group) Matches(name string) bool {
	// path.Match keeps "*" within a path's element; names of parameters have no such elements.
	ok, err := path.Match(strings.ReplaceAll(g.Match, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok && err == nil
}

// BoundKind says what the evaluation graph's number is. Numbers of different kinds are never compared.
type BoundKind string

// The kinds of bound.
const (
	// Bound is an upper bound on -log p of the row under the reverse process of the schedule, with as many steps as it takes: for
	// scalar schedules that is sampling in uniformly random order, for learned exponents in the order that they make likely. The
	// graph may compute a sample whose mean is the bound: averages over rows and draws then carry a standard error.
	Bound BoundKind = "bound"
	// PathBound is an upper bound on -log p under another sampler, such as a planner's order or insertion.
	PathBound BoundKind = "path_bound"
	// Estimate is a number that is on neither side of -log p for certain.
	Estimate BoundKind = "estimate"
)

// Names of outputs; those of metrics are MetricPrefix NAME SumSuffix and MetricPrefix NAME CountSuffix.
const (
	Loss         = "loss"
	RowBound     = "bound"
	RowCount     = "count"
	MetricPrefix = "metric."
	SumSuffix    = ".sum"
	CountSuffix  = ".count"
)

// A trainer whose schedule is of kind [PerToken] has a parameter [RawExponents], [V]: a token's exponent, its speed w in u_t = t^w
// (GenMD4), is the softplus of its element. The host writes the exponents into the model, and begins with those of a model that
// has some.
const (
	PerToken     = "per_token"
	RawExponents = "raw"
)

// Clock is the schedule of trainers of insertion models: rates are multipliers per unit of U(t) = -log(1 - t^a), where t runs from 0,
// the empty row, to 1 (methods/loflexmdm.md, section 4.2). They tell the network that t, not its distance from the data, and its outputs have
// insertion_rate, float32 [B, L+1]. One that gives order, float32 [B, L, 2], is an order network: it reads the clean row, is of the
// framework's own, and is saved with the model. With ShareWith "denoiser" it is a head on the denoiser's layers.
const Clock = "kumaraswamy"

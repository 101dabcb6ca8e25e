"""SAFE as text: molecules written as fragments, "." between them, whose cut bonds are labels that two fragments share.

A label of plain SAFE is a ring number of SMILES that is left open in its fragment, so the whole is SMILES:
`c15ccccc1.C5O`. Bracket SAFE writes it <k>, or <%kk> from 10 on, and keeps bare digits for rings: `c1<1>ccccc1.C<1>O`.
Nothing here knows chemistry or needs a package; text that is no SAFE passes through without an error.
"""

import re

TOKEN = re.compile(r"<%?[0-9]+>|%\([0-9]+\)|%[0-9]{2}|\[[^\]]*\]|Br|Cl|.", re.DOTALL)

# Labels of plain SAFE begin here, or above every ring number: in molecules of up to four open rings a digit then is
# either always a ring's or always a label.
FIRST_LABEL = 5


def tokens(text):
    """The atoms, bonds, numbers and brackets of a text, which joined give it back."""
    return TOKEN.findall(text)


def ring(token):
    """The ring number that a token is, or None."""
    digits = token.strip("%()") if token[0] == "%" else token
    return int(digits) if digits.isascii() and digits.isdigit() else None


def label(token):
    """The label k that a token <k> is, or None."""
    return int(token.strip("<%>")) if len(token) > 2 and token[0] == "<" and token[-1] == ">" else None


def written(number):
    """A ring number as SMILES has it: 7, %12, %(123)."""
    return str(number) if number < 10 else f"%{number}" if number < 100 else f"%({number})"


def bracketed(k):
    """A label as bracket SAFE has it: <7>, <%12>."""
    return f"<{k}>" if k < 10 else f"<%{k}>"


def open_numbers(text):
    """The numbers of a fragment, or of several, that are opened and not closed, in the order of their last opening."""
    left = {}
    for n in map(ring, tokens(text)):
        if n is not None and left.pop(n, None) is None:
            left[n] = True
    return list(left)


def to_bracket(text):
    """Plain SAFE with its labels as <1>, <2>, ... in the order in which they appear."""
    names, out = {}, []
    for fragment in text.split("."):
        ends, pieces = set(open_numbers(fragment)), tokens(fragment)
        last = {ring(t): i for i, t in enumerate(pieces)}  # where a number that stays open was opened
        for i, t in enumerate(pieces):
            if (n := ring(t)) in ends and last[n] == i:
                pieces[i] = bracketed(names.setdefault(n, len(names) + 1))
        out.append("".join(pieces))
    return ".".join(out)


def to_plain(text):
    """Bracket SAFE with its labels above every ring number, in their order; text without labels stays as it is."""
    pieces = tokens(text)
    labels = sorted({k for k in map(label, pieces) if k is not None})
    above = max([FIRST_LABEL - 1] + [n for n in map(ring, pieces) if n is not None])
    name = {k: written(above + 1 + i) for i, k in enumerate(labels)}
    return "".join(t if label(t) is None else name[label(t)] for t in pieces)


def capped(text):
    """Plain SAFE whose open numbers end in a dummy atom each, so that it is SMILES: `c15ccccc1` as `c15ccccc1.*5`."""
    return ".".join([text] + ["*" + written(n) for n in open_numbers(text)])


def attach(smiles, numbers):
    """SMILES of a fragment whose dummy atoms `*` (none of them first) become the given labels, in order.

    A label stands behind its atom's ring numbers, as SMILES asks for, and branches that hold nothing else go.
    """
    out, atoms, previous, left = [], [], None, list(numbers)
    for t in tokens(smiles):
        if t == "(":
            atoms.append(previous)
        elif t == ")":
            previous = atoms.pop()
        elif t == "*":
            at = previous + 1
            while at < len(out) and ring(out[at]) is not None:
                at += 1
            out.insert(at, written(left.pop(0)))
            atoms = [a + (a >= at) for a in atoms]
            continue
        elif ring(t) is None and t not in "-=#:$/\\":
            previous = len(out)
        out.append(t)
    return unbranched("".join(out))


def unbranched(text):
    """SMILES without branches that are empty or that nothing follows: `CC(=O)` as `CC=O`, `C(C(=O))N` as `C(C=O)N`."""
    pieces, opened, partner = tokens(text), [], {}
    gone = set()
    for i, t in enumerate(pieces):
        if t == "(":
            opened.append(i)
        elif t == ")":
            partner[opened.pop()] = i
    for begin, end in partner.items():
        after = end + 1
        while after in gone:
            after += 1
        if end == begin + 1 or after == len(pieces) or pieces[after] == ")":
            gone |= {begin, end}
    return "".join(t for i, t in enumerate(pieces) if i not in gone)

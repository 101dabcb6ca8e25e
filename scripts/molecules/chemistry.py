"""SAFE as molecules, with RDKit: decoding as the authors of bracket SAFE do it, encoding, scores."""

import os
import sys

from rdkit import Chem, RDConfig, RDLogger
from rdkit.Chem import BRICS, QED, rdFingerprintGenerator

import safe

sys.path.append(os.path.join(RDConfig.RDContribDir, "SA_Score"))
import sascorer  # noqa: E402  (Ertl and Schuffenhauer 2009; it lies in RDKit's Contrib)

RDLogger.DisableLog("rdApp.*")
FINGERPRINTS = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)


def parsed(smiles):
    """The molecule of SMILES, or None where there is none or it has no atom."""
    molecule = Chem.MolFromSmiles(smiles)
    return molecule if molecule is not None and molecule.GetNumAtoms() else None


def decoded(text):
    """Canonical SMILES of plain SAFE, bracket SAFE or SMILES, or None.

    Fragments that are nothing by themselves are dropped, labels without a partner become hydrogen, and of several molecules
    the one of the longest SMILES stays (LoFlexMDM, appendix on molecules).
    """
    kept = [f for f in safe.to_plain(text).split(".") if parsed(safe.capped(f)) is not None]
    molecule = parsed(safe.capped(".".join(kept)))
    if molecule is None:
        return None
    whole = Chem.ReplaceSubstructs(molecule, Chem.MolFromSmarts("[#0]"), Chem.MolFromSmiles("[H]"), replaceAll=True)[0]
    try:
        Chem.SanitizeMol(whole)
    except Chem.MolSanitizeException:
        return None
    longest = max(Chem.MolToSmiles(Chem.RemoveHs(whole)).split("."), key=len)
    molecule = parsed(longest)
    return Chem.MolToSmiles(molecule) if molecule is not None and molecule.GetNumHeavyAtoms() else None


def strict(text):
    """Whether a text is one molecule as it stands, nothing dropped: every label has its partner."""
    molecule = parsed(safe.to_plain(text))
    return molecule is not None and len(Chem.GetMolFrags(molecule)) == 1 and decoded(text) is not None


def scores(smiles):
    """QED (0 to 1, more is better) and synthetic accessibility (1 easy to 10)."""
    molecule = parsed(smiles)
    return QED.qed(molecule), sascorer.calculateScore(molecule)


def good(qed, sa):
    """Quality as the papers count it."""
    return qed >= 0.6 and sa <= 4


def fingerprint(smiles):
    return FINGERPRINTS.GetFingerprint(parsed(smiles))


def brics_bonds(molecule):
    """Single bonds that BRICS cuts, as pairs of atoms."""
    pairs = (tuple(sorted(pair)) for pair, _ in BRICS.FindBRICSBonds(molecule))
    return sorted(p for p in pairs if molecule.GetBondBetweenAtoms(*p).GetBondType() == Chem.BondType.SINGLE)


def fragments(molecule, cuts):
    """What is left of a molecule whose bonds `cuts` are cut: for each part its canonical SMILES, which has `*` where a cut
    ends and does not begin with one, and the cuts in the order of the `*`."""
    if not cuts:
        return [(Chem.MolToSmiles(molecule), [])]
    bonds = [molecule.GetBondBetweenAtoms(*c).GetIdx() for c in cuts]
    apart = Chem.FragmentOnBonds(molecule, bonds, dummyLabels=[(k, k) for k in range(len(cuts))])
    return [written(part) for part in Chem.GetMolFrags(apart, asMols=True, sanitizeFrags=False)]


def written(part):
    """A part of a molecule, whose dummies have the number of their cut as isotope, as `fragments` gives it."""
    dummies = {a.GetIdx(): a.GetIsotope() for a in part.GetAtoms() if a.GetAtomicNum() == 0}
    for dummy in dummies:
        part.GetAtomWithIdx(dummy).SetIsotope(0)  # the number of a cut does not sway the order of atoms
    ranks = list(Chem.CanonicalRankAtoms(part))
    root = min(set(range(part.GetNumAtoms())) - set(dummies), key=ranks.__getitem__)
    smiles = Chem.MolToSmiles(part, rootedAtAtom=root)
    order = part.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"]
    return smiles, [dummies[a] for a in order if a in dummies]


def encoded(molecule, cuts, rng=None):
    """Plain SAFE of a molecule with the bonds `cuts` cut, its fragments in an order that rng draws (None: largest first).

    Labels are numbered in the order in which they appear, from safe.FIRST_LABEL or above every ring number.
    """
    parts = fragments(molecule, cuts)
    if rng is None:
        parts.sort(key=lambda p: (-len(p[0]), p[0]))
    else:
        rng.shuffle(parts)
    return joined(parts)


def joined(parts):
    """Plain SAFE of parts as `fragments` gives them; a cut that only one of them has stays open."""
    rings = [n for smiles, _ in parts for n in map(safe.ring, safe.tokens(smiles)) if n is not None]
    first, names = max([safe.FIRST_LABEL - 1, *rings]) + 1, {}
    for _, cuts in parts:
        for cut in cuts:
            names.setdefault(cut, first + len(names))
    return ".".join(safe.attach(smiles, [names[c] for c in cuts]) for smiles, cuts in parts)

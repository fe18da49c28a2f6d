"""What a pull request may not change: its configuration is judged by the policy of its base."""

from __future__ import annotations

from tjbench.config import Config, ModelSpec, Policy, Proof


def judged_by_base(head: Config, base: Config) -> tuple[Config, list[str]]:
    """The configuration ``head`` under another one's policy, and what was put back.

    A pull request may change what is measured, never how it is judged: ``[gate]``, ``[providers]``,
    ``[baseline]``, ``[judge]``, ``[[accept]]``, caps and each proof's own policy come from ``base``.
    """
    tables = ("gate", "providers", "baseline", "judge")
    changed = [f"[{name}]" for name in tables if getattr(head, name) != getattr(base, name)]
    kept = ("max_cost_usd", "deadline_minutes", "allow_unpriced", "mock", "reuse", "max_age_days")
    run = head.run.model_copy(update={name: getattr(base.run, name) for name in kept})
    if run != head.run:
        changed.append(f"[run] {', '.join(kept)}")
    if head.mock != base.mock:
        changed.append("[mock]")
    if head.accept != base.accept:
        changed.append("[[accept]]")
    judged = [(proof, _under_policy(proof, base)) for proof in head.proof]
    if any(_own_policy(under) != _own_policy(proof) for proof, found in judged for under in found):
        changed.append("[[proof]] required, margin_pp, fail_on")
    update = {
        "proof": tuple(under for _, found in judged for under in found),
        "gate": base.gate,
        "run": run,
        "baseline": base.baseline,
        "judge": base.judge,
        "providers": base.providers,
        "mock": base.mock,
        "accept": base.accept,
    }
    gone = _dropped_rows(head, base)
    changed += [f"removal of the proof {_row_name(row)}" for row in gone]
    return head.model_copy(update=update).with_dropped(gone), changed


def _row_name(row: Proof) -> str:
    return f"{row.suite[0]}, {row.original[0]}" + (f" → {row.candidate}" if row.candidate else "")


def _dropped_rows(head: Config, base: Config) -> tuple[Proof, ...]:
    """The base's rows that the head does not hold, as proofs of one row; the embedded default is nobody's wish."""
    if base.proof == Config().proof:
        return ()
    kept = {(row, proof.candidate) for proof in head.proof for row in proof.combinations()}
    return tuple(
        proof.model_copy(update={"suite": (suite,), "original": (str(original),)})
        for proof in base.proof
        for suite, original in proof.combinations()
        if ((suite, original), proof.candidate) not in kept
    )


OwnPolicy = tuple[bool, float | None, tuple[Policy, ...] | None]


def _own_policy(proof: Proof) -> OwnPolicy:
    return proof.required, proof.margin_pp, proof.fail_on


def _under_policy(proof: Proof, base: Config) -> list[Proof]:
    """The proof as ``base`` judges it: in one piece, or a proof a row where its rows are judged differently."""
    rows = [(row, _policy_of_row(row, proof.candidate, base)) for row in proof.combinations()]
    if len({policy for _, policy in rows}) == 1:
        return [_judged_by(proof, rows[0][1])]
    single = [(proof.model_copy(update={"suite": (s,), "original": (str(o),)}), policy) for (s, o), policy in rows]
    return [_judged_by(row, policy) for row, policy in single]


def _judged_by(proof: Proof, policy: OwnPolicy) -> Proof:
    return proof.model_copy(update=dict(zip(("required", "margin_pp", "fail_on"), policy, strict=True)))


def _policy_of_row(row: tuple[str, ModelSpec], candidate: str | None, base: Config) -> OwnPolicy:
    """What ``base`` says of this candidate's row, else of any candidate's; the gate's own where that is unclear."""
    found = {old.candidate: _own_policy(old) for old in base.proof if row in old.combinations()}
    if candidate in found:
        return found[candidate]
    policies = set(found.values())
    return policies.pop() if len(policies) == 1 else _own_policy(Proof())

"""Answers about dismissed pairs, recalls that miss a memory, and audits."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from totonoe.cli.printing import line, lines, table
from totonoe.cli.stepping import step
from totonoe.enums import WhyNotOutcome
from totonoe.words.parts import counted
from totonoe.words.text import age

if TYPE_CHECKING:
    from totonoe.audit.models import ArmStanding, Audit, Dismissed, Undismissed, WhyNot

REACHING_K_MAX = 500
"""Largest k that takes an arm further down."""


def dismissed(answer: Dismissed) -> None:
    """Print that the pair is dismissed, and how to undo it."""
    one, other = answer.memory_ids
    if not answer.changed:
        line(f"{one} and {other} were dismissed already.")
        return
    line(f"Dismissed: {one} and {other} are no duplicates, while their texts are what they are.")
    line(f"Take it back with: {step('undismiss', one, other)}")


def undismissed(answer: Undismissed) -> None:
    """Print that the pair is not dismissed any more."""
    one, other = answer.memory_ids
    if answer.changed:
        line(f"{one} and {other} may be duplicates again.")
    else:
        line(f"Nobody had dismissed {one} and {other}.")


def why_not(answer: WhyNot) -> None:
    """Print the outcome for the memory, and the figures behind it."""
    lines(*_outcome(answer).splitlines())
    if answer.outcome is WhyNotOutcome.NOT_THERE:
        return
    for condition in answer.unmet:
        asked, held = condition.asked or "nothing", condition.held or "nothing"
        line(f"- {condition.name}: asked for {asked}, it has {held}")
        if condition.name == "statuses" and answer.superseded_by:
            line(f"  In its place: {answer.superseded_by}")
        if condition.name == "min_confidence" and answer.effective_confidence < answer.confidence:
            line(f"  It was given {answer.confidence:.2f}; the rest faded since its last recall.")
    if answer.degraded_because:
        line(f"Note: {answer.degraded_because}")
    rows = [
        row
        for name, arm in (("meaning", answer.vector), ("words", answer.lexical))
        if (row := _arm(name, arm)) is not None
    ]
    if rows:
        table(("arm", "similarity", "rank", "among its candidates"), rows)
    if answer.context:
        own = answer.relevance - answer.context
        line(
            f"Its relevance is {answer.relevance:.3f}: {own:.3f} of its own, and "
            f"{answer.context:.3f} from its neighbours in the thread."
        )
    if answer.missing_words:
        line(f"Words that it lacks: {', '.join(answer.missing_words)}")
    line(
        f"The filter lets {counted(answer.passing_count, 'memory', 'memories')} through; "
        f"{counted(answer.candidate_count, 'candidate')} of both arms."
    )


def _arm(name: str, arm: ArmStanding | None) -> tuple[str, str, str, str] | None:
    if arm is None:
        return None
    rank = str(arm.rank) if arm.rank else "nothing found"
    among = "yes" if arm.candidate else f"no, of at most {counted(arm.depth, 'candidate')}"
    return name, f"{arm.similarity:.3f}", rank, among


def _outcome(answer: WhyNot) -> str:
    match answer.outcome:
        case WhyNotOutcome.CAME:
            place = f"place {answer.place} of {_candidates(answer)}, {answer.k} asked for"
            return f"It comes: {place}.{_diversity(answer)}"
        case WhyNotOutcome.NOT_THERE:
            return (
                f"Memory {answer.memory_id} not found: it does not exist, or is private to "
                "another agent.\n"
                "Double-check the ID. Use recall to search for the memory you're looking for."
            )
        case WhyNotOutcome.EXCLUDED:
            would = (
                f"it would come at place {answer.place}" if answer.place else "it would not come"
            )
            by_status = [condition.name for condition in answer.unmet] == ["statuses"]
            return f"{'Its status' if by_status else 'The filter'} leaves it out; else {would}."
        case WhyNotOutcome.NO_MATCH:
            return "Nothing of the query is in it."
        case WhyNotOutcome.OUT_OF_REACH:
            return f"It is too far down in each arm to be a candidate.{_deeper(answer)}"
        case WhyNotOutcome.MISSED:
            return "It is near enough, but the graph, which searches approximately, passed it by."
        case WhyNotOutcome.BEYOND_K:
            rank = f"rank {answer.fused_rank} of {_candidates(answer)}"
            return f"It has {rank}, beyond the {answer.k} asked for."
        case WhyNotOutcome.TOO_WEAK:
            return f"Its relevance is {answer.relevance:.3f}: below the least that was asked for."
        case WhyNotOutcome.CROWDED_OUT:
            rank = f"rank {answer.fused_rank} of {_candidates(answer)}"
            return f"At {rank}, its place went to another one.{_diversity(answer)}"
        case WhyNotOutcome.FOLDED:
            same = f"{answer.near_id} (cosine {answer.near_similarity:.3f})"
            return f"At place {answer.place} stands {same}, which is probably the same and newer."
    return f"Outcome: {answer.outcome}"


def _deeper(answer: WhyNot) -> str:
    """Advise a larger k if one reaches as far down as the memory is."""
    arms = [arm for arm in (answer.vector, answer.lexical) if arm is not None and arm.rank]
    # An arm gives four candidates for each hit, 2,000 at most.
    able = min((-(-arm.rank // 4) for arm in arms), default=REACHING_K_MAX + 1)
    return f" With -k {able} it is one." if able <= REACHING_K_MAX else ""


def _candidates(answer: WhyNot) -> str:
    return counted(answer.candidate_count, "candidate")


def _diversity(answer: WhyNot) -> str:
    """Describe why diversity lowered the memory; empty if it did not."""
    if answer.budget:
        return f" What is of the same {answer.budget} had its share of places (--no-diversity)."
    if answer.near_id:
        near = f"{answer.near_id} (cosine {answer.near_similarity:.3f})"
        return f" It is near {near}, which came before it (--no-diversity)."
    return ""


def audit(answer: Audit, now: datetime | None = None) -> None:
    """Print all figures, then examples and the writing agents."""
    sampled = "" if answer.examined_count == answer.active_count else ", sampled"
    rows = [
        ("live memories", str(answer.active_count)),
        (
            f"near another (distance < {answer.near_distance_below:g})",
            f"{answer.near_share:.1%} ({answer.near_count} of {answer.examined_count}{sampled})",
        ),
        ("never recalled", str(answer.never_recalled_count)),
        (f"faded below {answer.confidence_below:g}", str(answer.faded_count)),
        ("open contradictions", str(answer.contradiction_count)),
        ("open questions: probably the same", str(answer.open_question_count)),
        ("chains of superseded", _chains(answer)),
        (f"refused as repeated{_since(answer.repeats_from_time, now)}", str(answer.repeat_count)),
        ("  of them equal and just recalled (at least)", str(answer.echo_refused_count)),
        ("saved though just recalled (at least)", str(answer.echo_saved_count)),
        ("index", _index(answer)),
    ]
    table(("figure", "value"), rows)
    if answer.open_question_count:
        line()
        line(f"The open questions: {step('questions')}")
        line(f"On a page, by keys: {step('console')}")
    if answer.near_pairs:
        line()
        line("Nearest pairs, by distance alone:")
        for pair in answer.near_pairs:
            line(f"- {pair.id_a} {pair.id_b} (distance {pair.distance:.3f})")
            _texts(answer, pair.id_a, pair.id_b)
        line(f"Which of them may say the same: {step('consolidate')}")
    if answer.contradictions:
        line()
        line("Open contradictions:")
        for first, other in answer.contradictions:
            line(f"- {first} {other}")
            _texts(answer, first, other)
    if answer.agents:
        line()
        line(f"Operations{_since(answer.operations_from_time, now)}:")
        table(
            ("agent", "operations", "of these"),
            [
                (
                    agent.agent_id or "(nobody)",
                    str(agent.operation_count),
                    ", ".join(
                        f"{kind} {count}"
                        for kind, count in sorted(
                            agent.kind_counts.items(), key=lambda item: (-item[1], item[0])
                        )
                    ),
                )
                for agent in answer.agents
            ],
            wide="of these",
        )


def _since(time: datetime | None, now: datetime | None) -> str:
    return "" if time is None else f" since {age(time, now)}"


def _texts(answer: Audit, *memory_ids: str) -> None:
    for memory_id in memory_ids:
        line(f"  {answer.texts.get(memory_id, '')}")


def _chains(answer: Audit) -> str:
    if not answer.chain_count:
        return "0"
    steps = counted(answer.longest_chain, "step")
    end = answer.longest_chain_id
    return f"{answer.chain_count}, the longest of {steps} to {end}: {answer.texts.get(end, '')}"


def _index(answer: Audit) -> str:
    if not answer.recall_sampled_count:
        return "exact"
    return f"finds {answer.recall_at_k:.1%} of the 10 nearest ({answer.recall_sampled_count} asked)"

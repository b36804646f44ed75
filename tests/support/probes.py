"""A probe set that a Calibrate reads in a moment; the shipped one takes it two seconds."""

from __future__ import annotations

from totonoe_core.domain.records import Verdict
from totonoe_core.guard.probe import ProbePair

WHO = ("Ann", "Bert", "Carla", "Dora", "Emil", "Fred", "Greta", "Hans", "Ida", "Jan")
WHAT = ("tea", "rice", "chess", "opera", "jazz", "tennis")


def pair(number: int, a: str, b: str, verdict: Verdict, name: str) -> ProbePair:
    return ProbePair(f"en-{name}-{number}", name, "en", a, b, (verdict,))


def small_probe() -> list[ProbePair]:
    """Sixty pairs with a light word more or less, sixty with another number."""
    things = [f"{who} likes {what}" for who in WHO for what in WHAT]
    light = [text.replace("likes", "really likes") for text in things]
    return [
        *(
            pair(at, text, two, Verdict.DUPLICATE, "light")
            for at, (text, two) in enumerate(zip(light, things, strict=True))
        ),
        *(
            pair(at, f"{text} {at} times a day", f"{text} {at + 7} times a day", Verdict.UPDATE,
                 "number")
            for at, text in enumerate(things)
        ),
        pair(0, "Ann likes tea", "Anne aime le thé", Verdict.DUPLICATE, "cross_language"),
    ]  # fmt: skip

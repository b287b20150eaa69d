"""Why a sum over people is withheld, in words."""

from __future__ import annotations

from analysis.feedback import GROUP_USERS_MIN
from analysis.site.suppression import Withheld

WITHHELD_WORDS = {
    Withheld.FEW_PEOPLE.value: f"withheld: fewer than {GROUP_USERS_MIN} people",
    Withheld.ONE_PERSON.value: "withheld: one person has more than 85\u00a0%",
    Withheld.PEOPLE_TOGETHER.value: "withheld: three people have nearly all of it",
    Withheld.OTHER_GROUP.value: "withheld: it would reveal a withheld group",
}

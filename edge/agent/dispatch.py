"""Which rule answers which form: one table."""

from __future__ import annotations

from collections.abc import Callable

from edge.agent import (
    doubts,
    present,
    rules_choice,
    rules_compare,
    rules_facts,
    rules_life,
    rules_order,
    rules_places,
    rules_seen,
    rules_sessions,
    rules_speech,
    rules_text,
    rules_times,
    rules_told,
)
from edge.agent.draft import Draft
from edge.agent.forms import Form
from edge.agent.question import Query
from edge.agent.view import View

Rule = Callable[[View, Query], Draft | None]

RULES: dict[Form, Rule] = {
    "when": rules_times.when,
    "did": rules_times.did,
    "count": rules_times.count,
    "count_days": rules_times.count_days,
    "days_with": rules_times.days_with,
    "days_without": rules_times.days_without,
    "days_since": rules_times.days_since,
    "usual_time": rules_times.usual_time,
    "usual_next": rules_order.usual_next,
    "duration": rules_times.duration,
    "order": rules_order.order,
    "before_than": rules_order.before_than,
    "next": rules_order.after,
    "previous": rules_order.before,
    "put": rules_places.put,
    "taken_from": rules_places.taken_from,
    "said_when": rules_speech.said_when,
    "reply": rules_speech.reply,
    "said_what": rules_speech.said_what,
    "mentioned": rules_speech.mentioned,
    "talked_about": rules_speech.talked_about,
    "bare": rules_times.bare,
    "usual_length": rules_times.usual_length,
    "average": rules_compare.average,
    "most_day": rules_compare.most_day,
    "more": rules_compare.more,
    "favourite": rules_compare.favourite,
    "text": rules_text.text,
    "schedule": rules_told.schedule,
    "which_place": rules_told.which_place,
    "until": rules_told.until,
    "who_said": rules_told.who_said,
    "todo": rules_told.todo,
    "there": rules_seen.there,
    "seen_which": rules_seen.which,
    "in_view": rules_seen.in_view,
    "how_many": rules_seen.how_many,
    "looks": rules_seen.looks,
    "session": rules_sessions.session,
    "wrong": rules_choice.wrong,
    "during": rules_choice.during,
    "state": rules_life.state,
    "objects": rules_life.objects,
    "who": rules_life.who,
    "day": rules_life.day,
    "recipe_had": rules_choice.part_of,
    "amount": rules_choice.amount,
    "step_when": rules_choice.step_when,
    "now": present.now,
    "lookup": rules_choice.which,
}


def answer(view: View, query: Query) -> Draft:
    """Answer by the form's rule; what it leaves open is looked up by its words."""
    if (unclear := doubts.doubt(view, query)) is not None:
        return unclear
    draft = RULES[query.form](view, query)
    if draft is None and query.choices and query.form != "lookup":
        draft = rules_choice.which(view, query)
    return draft if draft is not None else rules_facts.lookup(view, query)

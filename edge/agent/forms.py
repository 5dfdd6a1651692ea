"""The forms of questions, most special first: one table of patterns over a sentence without its quotes and times.

A quote stands as a section sign and its number.  Groups: vp (a verb phrase), obj (a thing), a/b or alts (two phrases),
who (a speaker), ord (first, last), unit, not (denied), verb, prep (a preparation is meant).  The grammar is English, not
a data set: auxiliaries, indirect speech ("tell me when I last ...") and word order vary freely within a form.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

Form: TypeAlias = Literal[
    "when", "did", "count", "count_days", "days_with", "days_without", "days_since", "usual_time", "usual_next",
    "duration", "order", "before_than", "next", "previous", "put", "taken_from", "said_when", "reply", "said_what", "text",
    "schedule", "which_place", "until", "who_said", "todo", "there", "seen_which", "in_view", "how_many", "looks", "session", "wrong", "during", "state", "objects", "who", "day", "recipe_had", "amount", "step_when", "now", "lookup", "average", "most_day", "more", "favourite", "mentioned", "talked_about", "bare", "usual_length",
]  # fmt: skip

_I = r"(?:i|we)"
_AUX = r"(?:did|have|had|do|was|were|am|would)"
_AI = rf"(?:{_AUX} )?{_I}(?: have| had|'ve|'d)?"  # "did I", and indirect "I"
_EVER = r"(?:(?:ever|already|actually|really|even|first|usually) )*"
_USUAL = r"(?:usually|normally|typically|generally|most often|mostly|often|tend to|commonly|regularly|habitually)"
_ORD = r"(?P<ord>last|first|most recently|recently|latest)"
_ORD_END = r"(?: (?:for the )?(?P<ord2>last|first|most recently)(?: time)?)?"
_TIME = r"(?:when|(?:at )?what time|(?:at )?what hour|(?:at )?what moment)(?: exactly| precisely)?"
_DAYS = r"(?:(?:different|distinct|recorded|all) )*(?:days?|dates?)"
_NEXT = r"(?:(?:next|then|right|just|immediately|directly|straight|shortly|straightaway) )*"
_WHAT = r"(?:what|which|(?:what|which) (?:[\w-]+ )?(?:step|activity|action|thing|task|one|move|recipe|dish|meal|job))(?: else)?"
_WRITTEN = r"(?:note|sign|poster|label|notice|letter|page|paper|message|board|sticker|menu|card|screen|display|leaflet|ticket|receipt)"
_SEE = r"(?:see|seen|saw|spot|spotted|notice|noticed|come across)"
_THING = r"(?:what|which|(?:what|which)(?: was| is|'s) the|(?:what|which) (?:[\w-]+ )?(?:step|activity|action|thing|task|one|move|recipe|dish|meal|job))"
_INGREDIENT = r"which of (?:these|the following) ingredients? (?:is|are|was|were)"

_TABLE: tuple[tuple[Form, str], ...] = (
    # sessions
    ("session", rf"{_TIME} did i (?:start|begin|do|have|make|record) the (?:session|task|activity|recording|job|work|one)\b(?P<vp>.*§\d.*)"),
    ("session", r"(?:when|which|what|the|a|that)\b.*\b(?:session|recording|day|outing|visit)\b.*\b(?:describe[ds]?|summari[sz]ed?|like this|in which|where|about)\b(?P<vp>.*§\d.*)"),
    ("session", rf"{_TIME} was the (?:session|task|recording|activity)\b(?P<vp>.+)"),
    # comparing
    ("average", rf"(?:on average,? )?how (?:many times|often)(?: on average)?(?: (?:a|per|each|every) day)?,? (?:on average )?(?:do|did|have) {_I} (?P<vp>.+?)(?P<unit> (?:a|per|each|every) day|,? on average)(?: on average)?"),
    ("average", rf"on average,? how (?:many times|often)(?: (?:a|per|each|every) day)? (?:do|did|have) {_I} (?P<vp>.+)"),
    ("average", rf"(?:on average,? )?how many times (?:a|per|each|every) day (?:on average )?(?:do|did|have) {_I} (?P<vp>.+)"),
    ("most_day", rf"(?:on )?(?:which|what) days? {_AI} (?P<vp>.+?) (?:the )?(?P<unit>most|least)(?: often| frequently| times)?"),
    ("most_day", r"(?:on )?(?:which|what) day (?:had|saw) the (?P<unit>most|fewest) (?P<vp>.+)"),
    ("more", rf"(?:did|have) {_I} (?P<vp>.+?) (?P<unit>more|less)(?: often| frequently)? ?(?P<ord>than|or)?"),
    ("favourite", rf"what (?:do|did|have) {_I} (?P<vp>(?:cook|make|prepare|bake|do|made|cooked|done)\b.*?) (?:the )?most(?: often| frequently)?"),
    ("favourite", rf"what do {_I} (?:most often|usually|mostly|normally) (?P<vp>(?:cook|make|prepare|bake)\b.*)"),
    # days and counts
    ("days_since", rf"how (?:many days|long) (?:ago|back)(?: was it(?: that)?| is it(?: that)?)? {_AI} ?(?:{_ORD} )?(?P<vp>.+?){_ORD_END}"),
    ("days_since", rf"how (?:many days|long) (?:is it|has it been|has passed|have passed|passed|is it now|went by|have gone by)(?: now)? since (?:the last time )?{_AI} (?:last )?(?P<vp>.+)"),
    ("days_since", rf"how (?:many days|long)(?: ago)? (?:is|was) (?:it|the last time) (?:that |since )?{_AI} (?:last )?(?P<vp>.+)"),
    ("days_since", rf"how (?:many days|long) since {_I} (?:have |had )?(?:last )?(?P<vp>.+)"),
    ("count_days", rf"(?:on |in )?how many (?:of )?(?:the |my |these )?{_DAYS}\b.*?\b{_AI} (?P<not>not |never )?{_EVER}(?P<vp>.+?)(?: on)?"),
    ("days_without", rf"(?:on |in )?(?:which|what|the) (?:of )?(?:the |my |these )?{_DAYS}\b.*?\b(?:{_AI} (?:did )?(?:not|never)|(?:didn't|haven't|hadn't) {_I}|{_I} (?:didn't|haven't|hadn't)|(?:{_AI} )?(?:skip(?:ped)?|miss(?:ed)?|(?:went|go|gone) without|(?:fail|neglect)(?:ed)? to|(?:forget|forgot|forgotten) to)) (?:(?:have|had) )?(?P<vp>.+?)(?: at all| even once)?"),
    ("days_without", rf"(?:on )?(?:which|what|the) {_DAYS} (?:passed|went by|were there|go by)? ?without (?:me |my |{_I} )?(?:having |ever )?(?P<vp>.+?)(?: at all)?"),
    ("days_with", rf"(?:on |in )?(?:which|what|all|the)(?: of)? (?:the |my |these )?{_DAYS}\b.*?\b{_AI} {_EVER}(?P<vp>.+?)(?: on)?"),
    ("usual_time", rf"(?:at )?(?:(?:about|around|roughly) )?(?:when|what time(?: of (?:the )?day)?|what hour)(?: of (?:the )?day)? do {_I} {_USUAL} {_EVER}(?P<vp>.+)"),
    ("usual_time", r"what(?: is|'s)? (?:my|the) (?:usual|normal|typical|average) time (?:to|for|of|when i|that i|at which i) (?P<vp>.+)"),
    ("usual_length", rf"(?:on average,? )?how (?:long|much time|many (?P<unit>minutes|hours)) (?:do {_I}|does (?:my|the|a)) (?:(?:{_USUAL}|on average) )?(?:spend )?(?:(?:on|in|for|to) )?(?P<vp>.+?)(?: (?:usually|normally|on average))?(?: (?:take|last|go on))?(?: (?:me|on average|usually))?"),
    ("usual_length", rf"how (?:long|much time|many (?P<unit>minutes|hours)) did {_I} (?:spend )?(?:(?:on|in) )?(?P<vp>.+?) on average"),
    ("usual_next", rf"what (?:do|will|would) {_I} {_USUAL} (?:start|do|begin|turn to)?(?: doing| next| then| right| directly)* ?(?:next )?after (?:that )?(?P<vp>.+)"),
    ("usual_next", rf"(?:after|once) (?P<vp>.+?),? what do {_I} {_USUAL} (?:start|do|begin|turn to).*"),
    ("usual_next", rf"what {_USUAL} (?:comes|follows|happens)(?: next)?(?: after)? (?P<vp>.+)"),
    ("amount", r"(?:what (?:was|is|were) the |what's the )?(?:exact |total )?(?:how much|quantity|amount|weight)(?: of)? (?P<a>.+?) (?:was used|used|went|put|added|(?:did )?i (?:use|weigh|add|put|used|added)|that i used)(?: in(?:to)?| for| to)? (?P<b>.+)"),
    ("amount", rf"(?:how much|how many (?:grams?|g|ml|cups|spoons|pounds|ounces))(?: of)? ?(?P<a>.*?) ?{_AI} (?:weigh|measure|use|add|put)(?:ed|d)?(?: out| in)?(?: of)? ?(?P<b>.*)"),
    ("amount", r"what (?:was|is) the (?:exact )?(?:quantity|amount|weight) of (?P<a>.+?)(?P<b>)"),
    ("duration", r"how (?:long|(?:many|much) (?P<unit>seconds?|minutes?|hours?|time))(?: in (?P<unit2>seconds|minutes|hours))? (?:did|does|was|were|has|have) (?:the |it )?(?:step |task |activity )?(?P<vp>§\d)(?: \w+)?(?: take| took| taken| last| lasted| go on| need)*"),
    ("duration", rf"how (?:long|(?:many|much) (?P<unit>seconds?|minutes?|hours?|time))(?: in (?P<unit2>seconds|minutes|hours))?(?: in all| altogether)? (?:did|have|was|were|had) (?:{_I}|it) (?:spend|spent|take|took|taken|need|needed|last|be|been|busy)?(?: (?:me|on|doing|to|for|with|in))*\b ?(?P<vp>.*)"),
    ("duration", r"how long (?:was|lasted|did) (?:the |my )?(?P<vp>.+?)(?: last| take)?"),
    ("count", rf"how (?:many times|often|frequently)(?: (?:in (?:all|total)|altogether|so far))* {_AI} (?P<not>not |never )?{_EVER}(?P<vp>.+?)(?: (?:in (?:all|total)|so far|until now|up to now|altogether))*"),
    ("count", r"(?:what is |what was )?(?:the )?number of times {ai} (?P<vp>.+)".replace("{ai}", _AI)),
    ("how_many", r"how many (?P<obj>[\w -]+?) (?:(?:did|have|had|could|can) (?:i|we) (?:see|seen|spot|spotted|notice|noticed|count)|(?:was|were|is|are|stood|stand|lay|lie|hung|hang) (?:there|in (?:my )?(?:view|sight)|in front of me|visible|around|(?:on|in|at) the [\w ]+))(?: .*)?"),
    ("looks", r"(?:what|which) (?P<unit>colou?r)s? (?:was|were|is|are|did|does|do|has|have|had)(?: i see on)? (?P<obj>.+?)(?: have| had| painted)?"),
    ("looks", r"what (?:was|were|is|are) the (?P<unit>colou?r)s? of (?P<obj>.+)"),
    ("looks", r"(?:what|how) (?:did|does|do) (?P<obj>(?:the|my|that|this|our) [\w -]+?) look(?P<unit>)(?: like)?"),
    ("count", r"how many (?P<obj>.+?) (?:did|have) (?:i|we) (?P<verb>\w+(?: up| out| down| away| off| on)?)(?: in (?:all|total)| so far)*"),
    # procedures
    ("wrong", r"(?:what|where|did anything|was anything|which|was there)\b.*?(?:went wrong|go wrong|was wrong|(?:i )?(?:do|did|done|get|got) wrong|mistakes?|errors?|slips?)\b(?: (?:did i make|i made|was made|happened|occurred|have i made|was there|was it|i|when|while|at|in|with|during|on|for))*(?: the)?(?: step)?\b(?P<vp>.*)"),
    ("order", r"(?:which|what)(?: one)?(?: of (?:these|the two|them))?(?: (?:things|steps|two))?,? ?(?:thing |step |one |activity )?(?:did i|was|came|happened|have i|i)? ?(?:do|did|start|started|begin|began|done|come|happen|make|made|have|had|eat|cook|use|see|take|visit)? ?(?:first|earlier|sooner)(?: of all)?,?[:,]? ?,? ?(?P<alts>.+ or .+)"),
    ("order", r"did i first (?P<alts>.+ or .+)"),
    ("order", r"did i (?P<alts>.+ or .+?) (?:first|earlier)"),
    ("before_than", rf"did {_I} (?P<a>.+?) (?P<ord>before|after) (?:{_I} )?(?P<b>.+)"),
    ("next", rf"{_WHAT} (?:did|was|have|had) {_I} (?:(?:do|doing|done|start|started|begin|begun|take|perform|turn to|go on to do|been|make|made|cook|cooked|prepare) ?)*{_NEXT}after(?:wards)?\b(?P<vp>.*)"),
    ("previous", rf"{_WHAT} (?:did|was|have|had) {_I} (?:(?:do|doing|done|start|started|begin|begun|take|perform|been|make|made|cook|cooked|prepare) ?)*{_NEXT}before(?:hand)?\b(?P<vp>.*)"),
    ("next", rf"{_THING} (?:came|comes|happened|follow(?:ed|s)|was|next|the next|thing|step|activity|action|{_I}|did|start(?:ed)?)(?: (?:came|comes|happened|follow(?:ed|s)|was|next|thing|step|activity|action|right|just|immediately|directly|did|{_I}|do|started?))* ?(?:after )(?P<vp>.+)"),
    ("previous", rf"{_THING} (?:came|comes|happened|preceded|was|the|last|thing|step|activity|action|{_I}|did|start(?:ed)?)(?: (?:came|comes|happened|was|last|previous|thing|step|activity|action|right|just|immediately|directly|did|{_I}|do|started?))* ?before (?P<vp>.+)"),
    ("next", rf"{_WHAT} followed (?P<vp>.+)"),
    ("previous", rf"{_WHAT} preceded (?P<vp>.+)"),
    ("next", r"(?:right |just |immediately )?after (?P<vp>.+?),? (?:what|which [\w-]+) (?:did|was) i (?:do|doing|start|begin|take)(?: (?:next|then|doing))*"),
    ("previous", r"(?:right |just |immediately )?before (?P<vp>.+?),? (?:what|which [\w-]+) (?:did|had|was) i (?:do|doing|done|start|begin)(?: doing)?"),
    # places
    ("taken_from", r"(?:from )?where (?:had|did|have) i (?:taken?|took|got(?:ten)?|get|picked? up|pick up|fetch(?:ed)?|bring|brought|grabbed|grab) (?P<obj>.+?)(?: (?:up )?from| out of)?(?: (?:(?:before|when|that|which) i (?:put|placed|set)(?: (?:it|them))?(?: (?:down|back|away))?.*))?"),
    ("taken_from", r"where (?:was|were|had) (?P<obj>.+?)(?: been)? before i (?:put|placed|set) .*"),
    ("taken_from", r"where did (?P<obj>.+?) come from(?: (?:that|which|when|before) i .*)?"),
    ("put", r"where (?:(?:did|have|had) )?i (?:{ord} )?(?:put|place|placed|leave|left|set|lay|laid|store|stored|stow|hang|hung|drop|dropped|park|parked|hide|hid|keep|kept)(?: (?:down|back|away))? (?P<obj>.+?)(?: (?:down|back|away|last))?(?: (?:that|which|after|when) i (?:had )?(?:pick|picked|took|take|taken|grabbed)\b.*)?".replace("{ord}", _ORD)),
    ("put", r"where did (?P<obj>.+?) (?:(?:that|which) i (?:had )?(?:picked up|took|taken|grabbed)\b.*)?(?:go|end up|land)"),
    ("put", r"(?:in|on|at) (?:which|what) (?:place|spot|location|room|drawer|shelf)\b.*? i (?:last )?(?:put|place|leave|left|see|store) (?P<obj>.+)"),
    ("put", r"where(?:'s| (?:is|are|was|were|did|have|can|could|might|would)) (?:i )?(?:(?:last )?(?:see|seen|find|saw|found) )?(?P<obj>(?:the|my|our|those|these|that|this|a|an|all)\b.+?)(?: (?:be|last|seen|kept|put|located|left|stored|hiding|gone))*"),
    # words
    ("reply", r"(?:what|how) (?:did|was|has) (?P<who>.+?) (?:answer|reply|respond|say|said|answered|react)(?: back)?(?: to me)?,? (?:when|after|as|to) (?:(?:i|we|\w+) (?:had )?(?:ask|asked|say|said|told|tell|replied|mentioned)(?: \w+)?)?[:,]? ?(?P<vp>§\d)"),
    ("reply", r"what (?:was|is) (?P<who>.+?)(?:'s)? (?:answer|reply|response|reaction) (?:to|when i (?:asked|said))[:,]? ?(?P<vp>§\d)"),
    ("said_when", rf"{_TIME} (?:did|was it that|has) (?P<who>.+?) (?:tell|told|say|said|ask|asked|mention|mentioned|answer|answered|remark|reply|explain)(?: (?:to )?(?:me|us))?(?: that)?[:,]? ?(?P<vp>§\d)"),
    ("said_when", rf"{_TIME} (?:was|were) (?:i|we) (?P<who>)(?:told|asked)(?: that)?[:,]? ?(?P<vp>§\d)"),
    ("said_when", rf"{_TIME} (?:did|have) (?:i|we) (?P<who>)(?:hear|heard)(?: that)?(?: \w+ say)?[:,]? ?(?P<vp>§\d)"),
    ("said_when", rf"{_TIME} (?:did|has|was it that) (?P<who>(?!i\b|we\b)[\w' ]+?) (?:{_ORD} )?(?:tell|told|say|said|ask|asked|mention|mentioned|warn|warned|remind|reminded|talk|speak)(?: (?:to )?(?:me|us))?(?: (?:that|about|of|to|whether|if))?,? (?P<vp>[^§]+)"),
    ("mentioned", r"(?:did|has) (?P<who>(?!i\b|we\b)[\w' ]+?) (?:ever )?(?:say|said|mention|mentioned|tell|told|talk|speak)(?: (?:to )?(?:me|us))?(?: anything| something)?(?: (?:about|of))? (?P<vp>[^§]+)"),
    ("talked_about", rf"what (?:did|have|had) {_I} (?:talk|talked|speak|spoken|chat|chatted)(?: (?:to|with) (?P<who>\w+))? about(?: (?:with|to) (?:\w+))?{_ORD_END}"),
    ("said_what", r"what (?:was|is|were) the (?P<ord>last|first) (?:thing|words?|sentence)(?: that)? (?P<who>.+?) (?:said|told|asked)(?: (?:to )?(?:me|us))?(?P<vp>)"),
    ("said_what", r"what (?:was|were|have) (?:i|we) (?:been )?told about (?P<vp>.+)"),
    ("now", r"(?:what(?:'s| is| does| am| are)|who(?:'s| is)) (?P<vp>(?:this|that|these|those|it|i (?:holding|doing|looking at|seeing|carrying)|in front of me|in my hands?|talking|speaking|happening|going on)\b.*)"),
    ("now", r"what (?P<vp>time is it|is the time|day is it|date is it|is the date|day is today|is today's date|do i have in my hands?)"),
    ("text", r"what (?:did|does|do|was|is) (?:(?:written|printed|shown|displayed) on )?(?P<obj>(?:the|that|this|my|a|an)\b.+?) (?:say|read|show|display|tell me|state)s?(?: when\b.*| at the (?:start|beginning|end)\b.*)?"),
    ("text", r"what (?:did|does) (?P<obj>(?:the|that|this|my|a|an)\b[\w ]*\b{w}(?: \w+ the [\w ]+?)?) (?:say|read|show|tell me) (?:about|on|for|of) .+".replace("{w}", _WRITTEN)),
    ("text", r"what (?:was|is|stood) (?:written|printed|shown|displayed)? ?(?:on|in) (?P<obj>(?:the|that|this|my|a|an)\b[\w ]*\b{w}\b.*)".replace("{w}", _WRITTEN)),
    ("text", r"what (?:was|is) (?:written|printed|shown|displayed) (?:on|in|at|above|below|beside|next to) (?P<obj>.+)"),
    ("said_what", r"what (?:did|have|had) (?P<who>i|we) (?:say|said|tell|told|mention|mentioned)(?: (?:to )?(?!about\b)\w+)? about (?P<vp>.+)"),
    ("said_what", r"what (?:did|have|has) (?P<who>(?!i\b|we\b)[\w ']+?) (?:say|said|tell|told|mention|ask|explain)(?: (?:to )?(?:me|us))?(?: about)? ?(?P<vp>.*)"),
    # told
    ("todo", r"what(?: else| all)? (?:(?:do|did|have|had|am|was) i|i) (?:(?:still|also|really|ever) )*(?:have to|had to|need to|needed to|got to|want to|wanted to|going to|about to|supposed to|meant to|mean to|plan to|planned to|planning to|intend to|intended to|promise to|promised to) (?P<vp>.+)"),
    ("todo", r"what (?:must|should|shall|ought) i (?:(?:still|also|not|never|to) )*(?P<vp>.+)"),
    ("todo", r"(?:do|did) i (?:still )?have (?:anything|something|things)(?: left| else| more)? to (?P<vp>.+)"),
    ("todo", r"(?:is there|what(?: is|'s)|what things are|what tasks are)(?: anything| something)?(?: still)? (?:left to do|to be done|still open|open)(?P<vp>)(?: for me)?"),
    ("todo", r"what(?: is|'s| are|'re| was| were)(?: on)? my (?:open |to-do |todo )*(?:tasks?|intentions?|plans?|reminders?|to-?dos?|lists?|promises?)(?P<vp>)"),
    ("until", r"(?:(?:for )?how long|(?:un)?till? when|how much longer) (?:is|are|will|does|do|must|should) (?P<vp>(?:the|my|our|this|that|a|an)\b.+)"),
    ("which_place", r"(?:in|at|on|to|from|into)? ?(?:which|what) (?P<unit>room|floor|building|platform|gate|office|hall|table|house|street|city|town|level|seat|row|shop|store|restaurant|cafe|aisle|track|terminal|place|location|spot) (?:is|are|was|were|does|do|did|will|should|must) (?P<vp>(?:the|my|our|this|that|a|an)\b.+?)(?: in| at| on| from)?"),
    ("who_said", r"who (?P<unit>ask)ed(?: me| us)? (?:about|for|after|if|whether) (?P<vp>[^\u00a7]+)"),
    ("who_said", r"who (?:told|said|mentioned|informed|reminded|spoke|talked|asked|warned)(?: (?:to )?(?:me|us))?(?: something| anything)?(?: (?:about|that|of|to))? (?P<vp>[^\u00a7]+)"),
    # choices over procedures
    ("recipe_had", rf"{_INGREDIENT} (?P<not>not )?(?:used|in|part of|needed)(?: in| for| to make)? (?P<vp>.+)"),
    ("step_when", r"when did i (?:perform|carry out|do (?=(?:the )?(?:step|prep)\b)) ?(?:the )?(?P<prep>prep(?:aration)? for |prepare )?(?:the )?(?:step )?(?P<vp>(?!§).+)"),
    ("step_when", r"which of (?:these|the following) time segments? (?:belongs?|corresponds?|matches)(?: to)? (?:the )?(?P<vp>.+)"),
    ("step_when", r"when was (?:the )?(?:ingredient )?(?P<vp>.+? (?:added|put) to .+)"),
    # everyday
    ("state", r"(?:is|are|was|were) (?P<obj>(?:the|my|our)\b.+?) (?:still |really )?(?P<unit>on|off|open|opened|closed|shut|locked|unlocked|running|plugged in|unplugged)"),
    ("state", r"(?:is|are|was|were) (?P<obj>(?:the|my|our)\b.+?) (?:still |already |really )?(?P<unit>out of order|broken|ready|full|empty|free|late|delayed|cancelled|sold out|occupied|working|finished|done|dirty|clean)"),
    ("state", r"(?:did|have) i (?:leave|left|forget|forgot) (?P<obj>(?:the|my|our)\b.+?) (?P<unit>on|open|unlocked|running|plugged in)"),
    ("who", r"who (?:was|were|am|did|have|had) i (?:with|talk(?:ing|ed)? (?:to|with)|sp[eo]ak(?:ing|en)? (?:to|with)|meet|met|meeting|see|seen|chat(?:ted|ting)? with|hear|heard)(?: .*)?"),
    ("who", r"who (?:was|were|is|has been|else was) (?:here|there|with me|talking|around|in the (?:room|house|kitchen))(?: .*)?"),
    ("day", r"(?:summari[sz]e|sum up|recap|describe)(?: (?:of|for me|me))? ?(?:my|the|a)? ?(?:day|week|morning|afternoon|evening|summary|recap)?(?: of| for)?(?: my day)?"),
    ("day", r"(?:how was|what was|what did i do (?:all|the whole|with)) (?:my )?(?:day|week|morning|afternoon|evening)?"),
    ("day", r"(?:a |the )?(?:summary|recap|overview) (?:of|for) ?(?:my |the )?(?:day|week|morning|afternoon|evening)?"),
    # seeing
    ("seen_which", rf"(?:what|which)(?: all)?(?: (?:kinds?|sorts?|types?) of)? ?(?P<obj>(?!colou?r|time|day|one\b)[\w -]*?)(?: else| all)? ?{_AI} {_EVER}(?:{_ORD} )?{_SEE}{_ORD_END}(?: (?:there|around|in (?:my )?view))?"),
    ("seen_which", r"(?:what|which)(?: (?:kinds?|sorts?|types?) of)? (?P<obj>(?!colou?r|time|day)[\w -]+?) (?:was|were|is|are) (?:there|in (?:my )?(?:view|sight)|in front of me|visible|around|to be seen)"),
    ("there", r"(?:(?:was|were|is|are) there (?:ever |also )?)(?P<obj>(?:a|an|any|some|the|my)\b(?! (?:time|moment|day|occasion|way|reason|chance)\b)[\w' -]+?)(?: (?:around|there|here|visible|nearby|in (?:my )?(?:view|sight)|in front of me|(?:in|on|at) the [\w ]+))*"),
    ("there", r"any (?P<obj>(?!idea|clue|chance|way|guess|thoughts?|memory)[\w-]+(?: [\w-]+){0,2}?)(?: around| there| in (?:my )?(?:view|sight))?"),
    ("seen_which", rf"{_AI} {_EVER}{_SEE} any ?thing(?P<obj>)(?: interesting| else)?"),
    ("in_view", r"(?:what|which things|which objects)(?: all| else| things?)? (?:was|were|is|are|stood|lay|stands|lies|stand|lie|sat|sits|could i see|can i see|did i see|do i see) (?P<vp>(?:on top of|on|in|at|under|behind|beside|near|next to|in front of|by|around|inside|with|within|there|visible)\b.*)"),
    # times
    ("when", rf"(?:{_TIME} (?:was it )?(?:when |that )?|what time was it when |what(?: was| is|'s) the time when ){_AI} (?:{_ORD} )?(?P<not>not |never )?{_EVER}(?P<vp>.+?){_ORD_END}"),
    ("when", rf"(?:(?:when|what time|at what time|what)(?: was|'s| is) )?the (?P<ord>last|first|latest|earliest|most recent|second|third|fourth|fifth|sixth) time (?:that |when )?{_AI} (?P<vp>.+)"),
    ("when", rf"{_TIME} (?:did|was) (?:the )?(?:step |task |activity )?(?P<vp>§\d)(?: (?P<ord>last|first))? (?:start|begin|started|begun|happen|take place|occur|done)"),
    ("when", rf"{_TIME} was (?!(?:the|my|our|a|an) [\w-]+$)(?P<obj>.+?) (?:(?P<ord>last|first) )?(?P<verb>\w+(?:ed|en|t|g|k|n))(?: by me)?"),
    ("schedule", r"(?:when|(?:at |on )?what (?P<unit>time|day|date)|(?:on |at )?which (?P<unit2>day|date|time)) (?:exactly )?(?:is|are|was|were|does|do|did|will|should|must) (?P<vp>(?:the|my|our|this|that|a|an|today's|tomorrow's|next)\b(?! (?:last|first|latest|earliest|most recent) time\b)[^\u00a7]+)"),
    ("objects", rf"(?:what|which)(?: all| else| things?| food| [\w-]+)? (?:did|have|had) i (?:{_ORD} )?(?P<vp>(?!do\b|done\b|doing\b|say\b|said\b|start\b|make of\b|perform\b|learn\b|think\b)\w+(?: for (?:breakfast|lunch|dinner|supper)| (?:in|into|on|onto|from|out of|off|under|to|up|down|away|out|back) ?(?:(?:the|my|a) .+)?)?){_ORD_END}"),
    ("objects", r"(?:what|which [\w-]+) (?:was|were) (?:i|we) (?P<vp>(?:cooking|making|preparing|baking)(?: for (?:breakfast|lunch|dinner|supper))?)"),
    ("during", r"(?:what|which)\b.*\b(?:did|was|were|am|have|had) i (?:do|doing|done|busy with|up to|perform|make|making)\b(?P<vp>.*)"),
    ("during", r"what (?:happened|was happening|went on|was going on|did i see|was there)\b(?P<vp>.*)"),
    ("did", rf"(?:is it true that |whether |if ){_AI} (?P<not>not |never )?{_EVER}(?P<vp>.+?)(?: at all| yet)?"),
    ("did", rf"(?:did|have|had) {_I} (?P<unit>skip(?:ped)?|miss(?:ed)?|(?:forg[eo]t(?:ten)?|fail(?:ed)?|neglect(?:ed)?) to|leave out|left out) (?P<vp>.+?)(?: at all| yet)?"),
    ("did", rf"(?:did|have|had|was|were) {_I} (?P<not>not |never )?{_EVER}(?P<vp>.+?)(?: at all| yet)?"),
    ("did", rf"(?:didn't|haven't|hadn't) {_I} {_EVER}(?P<vp>.+?)(?: at all| yet)?"),
)  # fmt: skip

RULES: tuple[tuple[Form, re.Pattern[str]], ...] = tuple((form, re.compile(p, re.IGNORECASE)) for form, p in _TABLE)

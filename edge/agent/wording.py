"""Other words for the same question: a table that brings everyday wordings to the one a form knows.

Applied to the bare question (no quotes, no times); the first pattern that fits the whole of it is taken, once.
"""

from __future__ import annotations

import re

_A = r"(?:a|an|any|some|the|my|our)"
_NOUN = rf"{_A}\b(?! (?:time|moment|day|occasion|way|reason|chance)\b)[\w' -]+?"
_HERE = r"(?: (?:around|there|here|visible|nearby|in (?:my )?(?:view|sight)|in front of me|(?:in|on|at) the [\w ]+))*"
_COLOUR = r"(?P<c>red|orange|yellow|green|blue|purple|pink|brown|black|white|gr[ae]y)"
# Participles of acts, for the passive: "was the dog fed" asks whether I fed the dog.  Words that tell a state are not among
# them ("is the door locked", "was the train delayed").
_STATES = r"(?!closed|shut|locked|unlocked|plugged|unplugged|delayed|cancelled|finished|occupied|broken|sold|called|named|used|tired|need|bed|red\b)"
_DONE = (
    rf"(?P<v>{_STATES}(?:\w+ed|fed|taken|put|cut|eaten|drunk|made|bought|brought|given|hung|held|read|written|thrown|sent|swept|"
    r"built|swum|driven|ridden|sung|worn|paid|lost|found|set|shaken|left)(?: (?:on|off|up|down|out|away|back))?)"
)
_SUBJECT = r"(?P<x>(?:the|my|our|a|an|any|some)\b[\w' -]+?)"
_PEOPLE = r"(?:anybody|anyone|somebody|someone|people|any people)"

_FEW = r"\w[\w'-]*(?: (?!did\b|was\b|is\b|i\b|we\b)\w[\w'-]*){0,3}"  # a thing in a few words
_OPENS = r"(?P<v>open|close|shut|run|start|ring|go on|go off)(?:ed|d|s)?"

_TABLE: tuple[tuple[str, str], ...] = (
    # few words, and the thing before the question
    (rf"(?:the |my |our )?(?P<x>{_FEW})(?: ?[-\u2013\u2014:,;?]+ ?| )(?:where|where is (?:it|that)|where are they)", r"where is my \g<x>"),
    (r"where(?: ?[-\u2013\u2014:,;?]+ ?| )(?:the |my |our )?(?P<x>(?!is\b|are\b|was\b|were\b|did\b|do\b|have\b|has\b|on\b|can\b|could\b|might\b|had\b|exactly\b|in\b|else\b|will\b|does\b|should\b|must\b)[\w'-]+)", r"where is my \g<x>"),
    (rf"(?P<x>(?:the |my |our )?{_FEW}) ?[-\u2013\u2014:,;?]+ ?(?P<q>(?:when|where|how often|how many times|did|have|on which days|which days)\b.* (?:did |have )?(?:i|we) .+?) (?:it|that|them)(?P<t>(?: (?:last|first|down|away|back))?)", r"\g<q> \g<x>\g<t>"),
    (rf"(?P<x>(?:the |my |our )?{_FEW}) ?[-\u2013\u2014:,;?]+ ?(?:when|what time) (?:was|is) (?:the|my) (?P<o>last|first|latest) one", r"when did i \g<o> have \g<x>"),
    (r"when (?:was|were) (?P<x>(?:the|my|our) [\w -]+?) (?P<o>last|first) (?P<v>on|off)", r"when did i \g<o> turn \g<v> \g<x>"),
    (r"(?:what (?:is|was) )?(?:the )?(?:total |whole )?time (?:that )?(?:i )?(?:have |had )?(?:spent|spend) (?:on|at|in|with)? ?(?P<x>.+)", r"how long did i spend on \g<x>"),
    (rf"(?:what (?:is|was) )?(?:the )?number of times (?:that )?{_SUBJECT} (?:was|were|has been|got) {_DONE}", r"how many times did i \g<v> \g<x>"),
    (r"how (?:long|many days)(?: is it| has it been)? since (?:my|our|the) last (?P<x>[\w' -]+)", r"how long since i last have \g<x>"),
    (r"(?:which |what |the )?days? without (?:a |an |any |the |my )?(?P<x>[\w' -]+)", r"which days did i not have \g<x>"),
    (r"(?:what(?:'s| is| was) )?(?:my |the )?usual time (?:to |for |when |that )?(?:i )?(?P<x>(?!for\b|to\b|when\b)[\w' -]+)", r"when do i usually \g<x>"),
    (r"what (?:was|did we have|was there)(?: to eat)? for (?P<x>breakfast|lunch|dinner|supper)", r"what did i cook for \g<x>"),
    (r"(?P<x>breakfast|lunch|dinner|supper) ?[-\u2013\u2014:,;?]+ ?what (?:was it|did i (?:make|cook|have|eat))", r"what did i cook for \g<x>"),
    (r"(?:everything|all(?: the things)?|the things|whatever) (?:that )?i (?P<x>cooked|made|prepared|baked|washed|bought|put .+|took .+)", r"what did i \g<x>"),
    (r"last time (?:that |when )?(?P<x>i .+)", r"when was the last time \g<x>"),
    (r"(?:when|what time) (?:was|is|were) (?:my|our|the) (?P<o>last|first|latest) (?!time\b)(?P<x>[\w' -]+?)(?: of the day)?", r"when did i \g<o> have \g<x>"),
    (rf"(?:my |our |the )?(?P<o>last|first|latest) (?!time\b|thing\b|one\b)(?P<x>{_FEW}?)(?: of the day)?(?: ?[-\u2013\u2014:,;]+ ?when)?", r"when did i \g<o> have \g<x>"),
    # the wearer is left out
    (rf"(?:when|what time|at what time) did (?P<x>(?:the|my|our) [\w -]+?) (?P<o>first |last ){_OPENS}", r"when did i \g<o>\g<v> \g<x>"),
    (rf"(?:when|what time|at what time) did (?P<x>(?:the|my|our) [\w -]+?) {_OPENS} for the (?P<o>first|last) time", r"when did i \g<o> \g<v> \g<x>"),
    (rf"(?P<q>how many times|how often) did (?P<x>(?:the|my|our) [\w -]+?) {_OPENS}", r"\g<q> did i \g<v> \g<x>"),
    (rf"(?:was|were|has|have) {_SUBJECT} (?:been )?used(?: at all| yet)?", r"did i use \g<x>"),
    # denied, with the question as a tag
    (r"i (?:didn't|haven't|never|did not|have not|hadn't) (?P<x>.+?),? (?:did|have|had) i", r"did i \g<x>"),
    (r"i (?!did\b|didn't|have\b|haven't|never|need\b|can\b|want\b|think\b|lost\b)(?P<x>.+?),? (?:(?:didn't|haven't) i|right|correct)", r"did i \g<x>"),
    (r"(?P<q>(?:on )?(?:which|what) (?:recorded )?days) (?:did|have|had) (?:i|we) (?:have|had|do|make|made|take|taken|get|eat|eaten) no (?P<x>.+)", r"\g<q> did i not have \g<x>"),
    (r"what (?:steps?|things?) did (?:i|we) (?:cook|make|prepare)(?P<x>.*)", r"what did i make\g<x>"),
    # who did it is left out, or it is said in another way
    (rf"(?P<q>how many times|how often|(?:on )?(?:which|what) (?:days|dates|day|date)) (?:was|were|has|have|did) {_SUBJECT} (?:been |get |got |being )?{_DONE}(?: on)?", r"\g<q> did i \g<v> \g<x>"),
    (rf"when (?:did|has|have|was|were) {_SUBJECT} (?P<o>last |first )?(?:get|got|been|be|being) {_DONE}", r"when did i \g<o>\g<v> \g<x>"),
    (rf"(?:was|were|has|have|had) {_SUBJECT} (?:been |already )*{_DONE}(?: yet)?", r"did i \g<v> \g<x>"),
    (rf"did {_SUBJECT} get {_DONE}(?: yet)?", r"did i \g<v> \g<x>"),
    (r"(?P<q>.+ )?(?:give|gave|given) (?:food to (?P<x>.+)|(?P<y>(?:the|my|our) .+?) (?:its |his |her |their |some )?food)(?P<t> .*)?", r"\g<q>feed \g<x>\g<y>\g<t>"),
    (r"once (?:i|we) (?:had |have |was done )?(?P<x>.+?),? what (?:did|was) (?:i|we) (?:do|doing)(?: then| next)*", r"what did i do after i \g<x>"),
    # places
    (r"what (?:did|have) (?:i|we) (?:do|done) with (?P<x>(?:the|my|our) (?!day|morning|afternoon|evening|night|time|week|rest|money)[\w' -]+)", r"where did i put \g<x>"),
    (r"where did (?:i|we) (?:end up|finish up|finish) (?:putting|leaving|placing|setting down|storing|dropping|hanging) (?P<x>.+)", r"where did i put \g<x>"),
    (r"(?:did|have) you (?:ever )?(?:see|seen|notice|noticed|spot|spotted|remember|know) (?P<x>(?:where|when|what|who|how|whether|if) .+)", r"\g<x>"),
    # seeing
    (rf"(?:when|what time) (?:was|were) (?P<x>{_NOUN}) (?P<o>last|first) (?:in (?:my )?(?:view|sight)|there|visible|around)", r"when did i \g<o> see \g<x>"),
    (r"(?:did|have) you (?:ever )?(?:see|seen|notice|noticed|spot|spotted) (?P<x>.+)", r"did i see \g<x>"),
    (rf"(?:did|have) i (?:meet|met) (?P<x>{_PEOPLE})", r"did i see \g<x>"),
    (rf"(?:was|were|is|are) (?P<x>(?:the|my) [\w -]+?) {_COLOUR}", r"did i see the \g<c> \g<x>"),
    (r"what (?:was|am|were) (?:i|we) looking at", "what did i see"),
    (r"(?:what|which)(?: (?:kind|sort|type) of)? (?P<x>[\w -]+?) (?:was|were) (?:it|that|those|they) (?:that |which )?(?:i|we) (?:saw|had seen)", r"which \g<x> did i see"),
    # the present
    (r"(?:read|read out|read aloud|read me|read to me) (?:this|that|it)(?: to me| aloud| out| for me)*", "what does this say"),
    (r"what (?:do|can) (?:you|i) see(?: here| there| in front of (?:me|us|you))?", "what is in front of me"),
    (r"(?:describe|what is) (?:what (?:you|i) see|what is in front of me|the view|the scene|my surroundings|around me)", "what is in front of me"),
    (r"what (?:have|did) i (?:got|get|pick up) in my hands?", "what am i holding"),
    (r"who (?:do|can) (?:you|i) hear(?: talking| speaking)?", "who is talking"),
    (r"what (?:is|does) (?:written|printed) (?:here|there|on it|on this|on that)", "what does this say"),
    # writing
    (r"read (?:me |us |out |to me |aloud )*(?P<x>(?:the|that|this|my) .+)", r"what did \g<x> say"),
    (r"what(?: is| was| are| were) the (?:text|writing|words?|label|inscription|message) (?:written )?(?:on|at|in|of) (?P<x>.+)", r"what was written on \g<x>"),
    (r"what did it say (?P<p>on|at|in|above|below|beside|next to|outside|inside) (?P<x>.+)", r"what was written \g<p> \g<x>"),
    (r"what (?:did|have|could) i (?:read|see written) (?:on|about|at|in) (?P<x>.+)", r"what did the sign about \g<x> say"),
    (r"what time (?:did|does|was|is) (?:it |shown |there )?(?:on )?the clock(?: show| say| read| tell)?(?P<t> (?:when|at the) .+)?", r"what did the clock say\g<t>"),
    # appointments
    (rf"when (?:do|did|will) (?:i|we) have (?P<x>{_NOUN})", r"when is \g<x>"),
    (r"(?:when|what time|at what time) (?:do|must|should|will|did) (?:i|we) (?:(?:have|need) to )?(?:be at|be in|go to|catch|leave for|attend|take|get to) (?P<x>(?:the|my|our) (?:train|bus|tram|ferry|plane|flight|taxi|meeting|appointment|lesson|class|course|dentist|doctor|office|concert|party|exam|lecture)\b.*)", r"when is \g<x>"),
    (rf"where (?:will|does|do|did) (?P<x>{_NOUN}) (?:be|be held|take place|happen|start|meet|begin)", r"where is \g<x>"),
    (rf"when will (?P<x>{_NOUN}) (?:work|open|run|be (?:open|fixed|repaired|back|working|available|mended|reopened))(?: again)?", r"until when is \g<x> closed"),
    # what is to be done
    (r"what did i say (?:that )?i (?:have|need|had|needed) to (?P<x>.+)", r"what do i have to \g<x>"),
    (r"(?:do|did) i (?:still )?(?:have|need) to do (?:anything|something)(?: else)?", "what do i have to do"),
    (r"(?:did|have|am) i (?:forget|forgot|forgotten|forgetting) (?:anything|something)", "what do i have to do"),
)  # fmt: skip
_WORDINGS = tuple((re.compile(pattern, re.IGNORECASE), form) for pattern, form in _TABLE)
_SHORT = re.compile(r"^(when|where|who|how|what|which)(?:'s|\u2019s) ", re.IGNORECASE)


def plain_wording(body: str) -> str:
    """The question in the wording its form knows; as it was when it is no such other wording."""
    body = _SHORT.sub(r"\1 is ", re.sub(r"^whereabouts\b", "where", body, flags=re.IGNORECASE))
    for pattern, form in _WORDINGS:
        if (m := pattern.fullmatch(body)) is not None:
            told = m.expand(form)
            # "the blue the cup": the article moves before the colour
            return re.sub(r"\bthe (\w+) (?:the|my) ", r"the \1 ", told)
    return body

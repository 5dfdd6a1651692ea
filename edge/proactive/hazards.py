"""Acute danger (the next ten seconds) and bad technique in what was just perceived, mistakes too, as tables of signs.

Each sign needs the danger and what makes it acute in one sentence; tools and heat by themselves are everyday life.
`warning` and `advice` are pure functions of one text, so that every perceived frame can be checked at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from edge.clock import US
from edge.proactive.acts import doings
from edge.proactive.alerts import speak
from edge.proactive.experts import Screening, service
from storage.records import Item, Service, Window

_SHARP = r"(?:knife|knives|blades?|scissors|\w*saw|razor|cleaver|grater|slicer|mandoline?|drill bit|axe|hatchet|chisel|scalpel|shears|secateurs|hedge trimmer|mower|(?:grinder|cutting|spinning) disc|grinder|lathe|router bit|sander|needle)"
_HAND = r"(?:finger|fingers|fingertips|thumb|thumbs|hand|hands|palm|wrist|arm|sleeve|hair)"
_FINGER = r"(?:finger|fingers|fingertips|thumb|thumbs|palm|wrist)"
_FIRE = r"(?:flame|flames|fire|burner|burners|lit stove|hot stove|hot hob|gas flame|lit candle)"
_NEAR = r"(?:near|close to|next to|under|beneath|against|towards?|over|above|touch\w*|reach\w* (?:over|across|into)|on(?: top of)?|between)"
_CLOTH = r"(?:towel|tea towel|cloth|paper|napkin|curtain|plastic bag|cardboard|oven mitt)"
_CUTTING = r"(?:cut|chopp|slic|saw|carv|peel|drill|shav|mow|weld|grind|solder)\w*"
_STEERING = r"(?:driv(?:es?|ing)|cycl(?:es?|ing)|bik(?:es?|ing)|skat(?:es?|ing)|skis?|skiing|jog\w*|(?:rid(?:es?|ing)|steer\w*) (?:\w+ ){0,2}(?:bicycle|bike|scooter|motorbike|motorcycle|moped|horse|forklift|tractor|car|van|truck)|(?:climb\w*|walk\w*|go\w*|com\w*) (?:up|down) (?:the |a )?(?:\w+ )?(?:stairs?|steps|ladder))"
_EYES = r"(?:texts|texting|(?:look\w*(?: down)? at|star\w* at|typ\w*|scroll\w*|read\w*|check\w*|watch\w*|film\w*|us(?:es?|ing))\b.{0,20}\b(?:phone|mobile|screen|tablet|message|messages|text|video))"
_VEHICLE = r"(?:car|cars|truck|lorry|bus|tram|train|bicycle|bike|cyclist|scooter|motorbike|motorcycle|van|taxi|forklift|fork ?lift|tractor|excavator|digger|ambulance|trolley|cart|horse|skier|trailer)"
_GROUND = r"(?:floor|tiles?|pavement|sidewalk|path|road|stairs?|steps?|staircase|ground|ramp|deck|walkway|doorstep|platform|ladder)"
_SMALL = r"(?:child|children|toddler|baby|infant|little (?:boy|girl)|boy|girl|kid|son|daughter|grandchild|grandson|granddaughter)"
_CHEMICAL = r"(?:acid|lye|caustic\w*|bleach|ammonia|drain cleaner|solvent|thinner|pesticide|weed ?killer|chlorine|chemicals?|cement|epoxy|resin|liquid nitrogen|battery fluid|formalin|disinfectant concentrate)"
_GUARD = r"(?:goggles|safety glasses|eye protection|face shield|visor|mask|respirator|helmet|hard hat|harness|rope|belay|gloves?|seat ?belt|life (?:jacket|vest)|guard|ear (?:protection|defenders))"


@dataclass(frozen=True, slots=True)
class Hazard:
    """One kind of danger or slip: its name, what tells of it, what takes the sting out of it, and what is said."""

    name: str
    sign: str
    unless: str
    say: str


TABLE: tuple[Hazard, ...] = (
    Hazard("blade", rf"{_FINGER}\b.{{0,40}}\b{_NEAR}\b.{{0,24}}\b{_SHARP}|{_SHARP}\b.{{0,24}}\b{_NEAR}\b.{{0,16}}\b{_FINGER}|"
           rf"\bhands?\b.{{0,24}}\b(?:under|beneath|close to|too near|touch\w*)\b.{{0,16}}\b{_SHARP}|"
           rf"(?:holds?|grabs?|grasps?|catch\w*)\b.{{0,20}}\bby the blade|catch\w* (?:a |the )?falling (?:{_SHARP}|glass)|{_SHARP}\b.{{0,8}}\b(?:slips|jumps|skids)\b.{{0,30}}\b{_HAND}|{_CUTTING}\b.{{0,30}}\bin (?:the |his |her |my )?(?:palm|bare hand|(?:open )?hand)\b|"
           rf"\b(?:needle|{_SHARP})\b.{{0,12}}\b(?:points?|pointing|aimed|comes?)\b.{{0,24}}\b{_HAND}|\brecap\w*\b.{{0,12}}\bneedle\b.{{0,24}}\b{_HAND}|\bsteps? on (?:a |an |the )?(?:rusty )?(?:nail|rake|needle|tack|screw)|"
           rf"{_CUTTING} towards? (?:the |his |her |my )?{_HAND}|"
           rf"(?:push|press|driv|pull|mov|stab)\w* (?:the |a )?(?:\w+ )?{_SHARP} towards? (?:the |his |her |my )?(?:other |left |right |own )?{_HAND}|"
           rf"(?:sleeve|scarf|necklace|long hair|loose hair|tie|cord)\b.{{0,30}}\b(?:caught|near|close to|into|in|touch\w*)\b.{{0,16}}\b(?:{_SHARP}|spinning|rotating|drill|mixer|shredder|belt)",
           r"\b(?:glove|wash\w*|rins\w*|put\w* (?:down|away)|dr(?:y|ies)|rack|block|drawer|handle)\b", "fingers near the blade"),
    Hazard("distraction", rf"(?:look\w*|star\w*|typ\w*|scroll\w*) (?:at|on|away|to)\b.{{0,24}}\bwhile (?:\w+ )?{_CUTTING}|"
           rf"{_CUTTING}\b.{{0,30}}\bwhile (?:look\w*|talk\w* on|scroll\w*|typ\w*)\b.{{0,16}}\b(?:phone|screen|away|tv|television)",
           r"\bpeel\w* (?:off )?(?:the )?(?:label|sticker)", "look at the blade"),
    Hazard("burn", rf"(?:bare|unprotected|ungloved) {_HAND}\b.{{0,40}}\b(?:oven|hot|stove|pan|pot|burner|grill|tray|kettle)|"
           r"(?:touch\w*|grab\w*|grasp\w*|reach\w* (?:in|for|over|across)\w*)\b.{0,30}\b(?:hot|boiling|glowing|red-hot|oven|steaming)\b.{0,40}"
           r"\b(?:bare|without (?:a |any )?(?:glove|mitt|cloth|protection))|"
           rf"{_HAND}\b.{{0,24}}\b{_NEAR}\b.{{0,16}}\b(?:{_FIRE}|boiling|hot oil|steam)|\breach\w* (?:over|across) (?:a |an |the )?(?:lit |burning |hot |open )?(?:{_FIRE}|candles?|stove|hob|boiling \w+|kettle|grill)\b|{_HAND}\b.{{0,16}}\bin(?:to|side)? the (?:\w+ )?(?:steam|flames?|boiling \w+|hot oil)\b|(?:sleeve|hair|scarf|apron)\b.{{0,40}}\b(?:over|above|into|in|near|next to|close to)\b.{{0,12}}\b(?:{_FIRE})|(?:steam|boiling \w+|hot (?:oil|fat|water|soup|coffee|tea|wax)|splashes of oil)\b.{{0,16}}\b(?:hits?|scald\w*|splash\w*|spills?|spray\w*|pours?|drips?|burns?)\b.{{0,24}}\b(?:{_HAND}|face|leg|legs|foot|feet|lap|skin|wearer)|"
           r"\b(?:kettle|pan|pot|mug|cup|coffee|tea ?pot)\b.{0,16}\b(?:wobbl|tip|tilt|slid|toppl|slip)\w*\b.{0,40}\b(?:edge|child|baby|lap|over)",
           r"\b(?:with|wear\w*|using) (?:an? |the )?(?:oven |heat |thick )?(?:glove|mitt|cloth|towel)", "that is hot"),
    Hazard("fire", rf"{_CLOTH}\b.{{0,30}}\b{_NEAR}\b.{{0,24}}\b{_FIRE}|{_CLOTH}\b.{{0,20}}\b(?:catch\w* fire|on fire|burn\w*|smok(?:es|ing))|"
           r"\b(?:pan|oil|toaster|oven|grease|bin|socket|outlet|battery|charger|laptop|phone|engine|motor|cable|lamp|sofa|mattress|curtain|wreath|tree|haystack|sawdust|towel|sleeve|dress|shirt)\b.{0,16}\b(?:on fire|in flames|catches fire|bursts into flames|starts? (?:to smoke|smoking|to burn)|is smoking|smok(?:es|ing) heavily)|"
           r"\b(?:smoke|flames?|sparks)\b.{0,10}\b(?:com(?:es?|ing)|pour\w*|ris(?:es?|ing)|shoot\w*|billow\w*|leap\w*|fly\w*|drift\w*|curl\w*|seep\w*)\b.{0,16}\b(?:of|from|out|under)\b.{0,30}"
           r"\b(?:toaster|oven|oil|frying pan|pot|socket|outlet|plug|stove|hob|pan|dryer|engine|hood|laptop|phone|battery|charger|machine|bin|adapter|roof|window|door|cable|fuse box|panel|room|kitchen|motor|drill|saw|heater|microwave)",
           r"\bfire ?place|\bfire alarm\b|\bchimney\b|\bbarbecue\b|\bcampfire\b|\bgrinder\b|\bweld\w*", "something may catch fire"),
    Hazard("flammable", r"\b(?:petrol|gasoline|spirit|alcohol|lighter fluid|deodorant|hair ?spray|spray can|aerosol|solvent|thinner)\b.{0,24}\b(?:on|onto|over|near|next to|into|beside|close to)\b.{0,16}\b(?:barbecue|fire|flames?|candles?|stove|burner|grill|hot|heater|cigarette|spark\w*)|"
           r"\b(?:candle|tea light|burner|heater|cigarette|torch|lighter|match)\b.{0,24}\b(?:next to|near|under|against|beside|close to|touch\w*|onto?)\b.{0,12}\b(?:curtains?|papers?|straw|hay|sofa|mattress|bedding|christmas tree|petrol|sawdust|bed)\b|\b(?:hot )?iron\b.{0,16}\bface down\b",
           r"\b(?:ash ?tray|unlit|put out|blown out)\b", "that can catch fire"),
    Hazard("boiling over", r"\b(?:boils?|boiling|foams?) over\b", r"\bbefore\b|\bso (?:that )?it\b|\bprevent", "it boils over"),
    Hazard("slippery floor", r"(?:spill\w*|pour\w* out|leak\w*|drip\w*)\b.{0,40}\b(?:on|onto|over|across)\b.{0,16}\bfloor|"
           r"(?:walk\w*|step\w*|run\w*|slip\w*)\b.{0,24}\bwet (?:\w+ )?(?:floor|tiles?)|\bpuddle\b.{0,16}\bfloor",
           r"\b(?:wip|mopp|clean|dr(?:y|ies)|paint|brush|roller)\w*\b", "the floor is wet"),
    Hazard("slippery ground",
           rf"(?:walk\w*|step\w*|run\w*|climb\w*|go\w*|slip\w*|skid\w*)\b.{{0,24}}\b(?:wet|slippery|icy|greasy|oily|frozen|slick|mossy|soapy) (?:\w+ )?{_GROUND}|"
           rf"{_GROUND}\b.{{0,40}}\b(?:(?:covered|coated|slick|glazed) (?:with|in) (?:\w+ )?(?:ice|frost|oil|grease|water|wet leaves|soap|moss)|(?:is|are|looks?) (?:very )?(?:icy|slippery|slick|frozen|greasy))|\bblack ice\b",
           r"\b(?:wip|mopp|clean|dr(?:y|ies)|gritt?|salt|scrap)\w*\b", "it is slippery"),
    Hazard("opening", r"\b(?:open|uncovered|unguarded) (?:manhole|hatch|trap ?door|pit|drain|lift shaft|elevator shaft|shaft|trench|cellar hatch|excavation)\b|\b(?:missing|broken|loose|rotten) (?:step|stair|rung|plank|board|railing|handrail|banister)\b|"
           r"\b(?:open|deep|unmarked|uncovered|big) (?:hole|trench|gap|ditch)\b|\b(?:step|walk|back|lean|slid)\w*\b.{0,24}\b(?:towards?|over|close to|near) the (?:very |unfenced |platform |cliff |roof )?edge\b|\bbeyond the (?:yellow|white) line\b|\b(?:cliff|platform|roof|balcony) edge\b",
           r"\b(?:repair|fix|nail|screw|replac|cover|dig|cook|pan|brush|edge of (?:the )?(?:table|paper|cloth|board|bed|field|wood|forest|town))\w*\b", "mind your step"),
    Hazard("falling", r"\b(?:load|crate|beam|branch|rocks?|tiles?|shelf|shelves|stack|pile|pallet|bookcase|cupboard|wardrobe|tree|wall|bricks?|barrel|plant pot|barbell|dumbbell|weights?|sign|icicles?|wheelchair|pram|stroller|buggy|trolley|bed|patient|old (?:man|woman|lady))\b.{0,24}\b(?:sway|wobbl|tip|toppl|tilt|collaps|fall|slip|slid|giv|roll|stumbl)\w*\b.{0,16}\b(?:over (?:onto|on|towards?)|towards?|down the|above|onto|on top of|wearer|out of bed|curb|ramp|slope)\b|\b(?:wheelchair|bed|trolley|pram|stroller)\b.{0,30}\bbrakes?\b.{0,8}\b(?:off|not on|open|released)|\bjack\b.{0,16}\b(?:slip|slid|tilt|giv)\w*",
           r"\b(?:falls? asleep|leaves fall|picture|into the (?:box|bin|bowl|water))\b", "something is falling"),
    Hazard("animal", r"\b(?:dog|bull|boar|goose|swan|snake|bear|wasps?|hornets?|bees?|horse)\b.{0,24}\b(?:growl|snarl|bares? its|charg|attack|lung|swarm|rears|strik)\w*|\b(?:dog|horse|donkey|cow)\b.{0,12}\b(?:snaps at|bites|kicks (?:at|out)|kicks the)|\b(?:viper|rattlesnake|wasps?'? nest|hornets?'? nest)\b",
           r"\b(?:ball|stick|toy|treat|bone|vaccin\w*|charger|plays?)\b", "keep your distance"),
    Hazard("weather", r"\b(?:lightning|thunder\w*)\b.{0,40}\b(?:lake|pool|field|hill|ridge|peak|tree|boat|beach|golf|summit|open)\b", r"\bwindow\b", "lightning, find shelter"),
    Hazard("broken glass", r"(?:broken|shattered|smashed|splinters? of|shards? of) (?:\w+ )?(?:glass|bottle|plate|jar|cup|mirror|bowl)|"
           r"(?:glass|bottle|jar|mirror|plate)\b.{0,16}\b(?:breaks|shatters|broke|shattered|smashes)|glass shards?",
           r"\b(?:sweep\w*|swept|bin|dustpan|throw\w* away|vacuum\w*)\b", "there is broken glass"),
    Hazard("fall", r"\b(?:ladder|stool|chair|scaffold\w*|step ?ladder|trestle)\b.{0,16}\b(?:wobbl|shak|slip|tip|tilt|slid|sway|give|sink)\w*|\bladder\b.{0,30}\b(?:slid|slip|sink|wobbl|loose (?:gravel|ground|sand)|soft ground|ice)\w*|(?:los\w* (?:his |her |my |the )?balance|\b(?:cannot|can't|unable to|not able to) see (?:the |where )?(?:next )?(?:steps?|stairs?|floor|way|ground|going|feet)\b|almost falls?|nearly falls?|stumbl\w*|trip\w* over)|"
           r"(?:stand\w*|climb\w*)\b.{0,20}\b(?:chair|stool|box|crate|bucket|ladder)\b.{0,12}\bon (?:top of )?(?:a |the )?(?:table|desk|chair|box|bed|sofa|crate|worktop)\b|(?:stand\w*|climb\w*)\b.{0,20}\b(?:top (?:step|rung)|edge of (?:the )?(?:roof|table|chair|balcony)|swivel chair|unstable)",
           r"\b(?:toy|table leg)\b", "you may fall"),
    Hazard("traffic", r"(?:step\w*|walk\w*|cross\w*|run\w*)\b.{0,24}\b(?:road|street|crossing|junction|tracks)\b.{0,24}\b(?:while|without|looking (?:at|down)|on red|red light)|\b(?:cross\w*|walk\w*|runs?|goes)\b.{0,12}\b(?:at|on|against) (?:a |the )?red\b|"
           rf"{_VEHICLE}\b.{{0,24}}\b(?:approach\w*|com(?:es|ing)|heads?|heading|speed\w*|rac\w*|rush\w*|swerv\w*|turn\w*|roll\w*|drift\w*|back\w*(?: up)?|revers\w*|pull\w* out|shoot\w*)\b.{{0,24}}\b(?:wearer|fast|quickly|rapidly|at (?:high )?speed|towards?|straight (?:at|for)|right at|in front of (?:the wearer|me|him|her)|into (?:the|my|his|her) (?:path|way|lane))|"
           rf"(?:step|walk|cross|run|rid)\w*\b.{{0,24}}\b(?:road|street|crossing|crosswalk|intersection|tracks|lane)\b.{{0,12}}\b(?:as|when|while|although|in front of)\b.{{0,12}}\b{_VEHICLE}\b.{{0,12}}\b(?:approach|com|turn|speed|rac)\w*|"
           r"(?:texting|looking at (?:the |a )?phone)\b.{0,16}\bwhile driving|driv\w*\b.{0,24}\bwhile (?:texting|looking at)",
           r"\b(?:window|crosses at the green|waits?|bus stop|tram stop|platform|station|stops?|slows?|parked|park\w* space|toy|shop(?:ping)?|exit|home|door|shelf|shelves|checkout|till)\b", "watch the road"),
    Hazard("eyes off the way", rf"{_EYES}.{{0,16}}\b(?:while|as)\b.{{0,16}}\b{_STEERING}|{_STEERING}\b.{{0,30}}\b(?:while|and|with eyes)\b.{{0,8}}\b(?:{_EYES}|on the phone)|"
           r"hold\w*\b.{0,12}\b(?:phone|mobile|smartphone)\b.{0,12}\bwhile\b.{0,16}\b(?:driv(?:es?|ing)|cycl(?:es?|ing)|rid(?:es?|ing) (?:\w+ ){0,2}(?:bicycle|bike|scooter|motorbike))",
           r"\b(?:parked|passenger|stops?|stopped|waits?|waiting|treadmill|exercise bike|stationary|while the (?:bus|train|tram|taxi|car|driver))\b", "eyes on the way"),
    Hazard("electricity", rf"wet {_HAND}|(?:knife|fork|spoon|screwdriver|{_HAND})\b.{{0,16}}\b(?:in|into|inside)\b.{{0,10}}\b(?:toaster|socket|outlet)|"
           r"(?:exposed|bare|frayed|damaged|sparking) (?:\w+ )?(?:wires?|cables?|cords?)",
           r"\b(?:dr(?:y|ies|ying)|towel|shake\w*|wash\w*)\b(?!.*plug)", "wet hands and power"),
    Hazard("current", r"(?:hair ?dryer|hair ?straighteners?|radio|heater|phone|phone charger|charger|laptop|lamp|extension (?:lead|cord)|power (?:strip|cable|tool|drill)|kettle|toaster)\b.{0,48}\b(?:(?:edge|rim|side) of (?:the |a )?(?:full )?(?:bath|bath ?tub|pool)|(?:sink|basin|tub) full|in the bath|near (?:the )?water|puddle|standing in water)|"
           r"\b(?:cut|drill|saw|dig|nail)\w*\b.{0,24}\b(?:into|through|near|over|towards?) (?:the |a |an )?(?:live |power |electric |hidden )+(?:cable|wire|power line|gas pipe|gas line)|\b(?:ladder|pole|mast|kite|crane|boom)\b.{0,24}\b(?:near|close to|touch\w*|under|towards?)\b.{0,12}\b(?:power|overhead) (?:lines?|cables?)",
           r"\b(?:dr(?:y|ies|ying)|towel|shake\w*|wash\w*|unplug\w*)\b(?!.*(?:plugged|tub|bath|pool))", "danger of a shock"),
    Hazard("machine", rf"\b(?:reach\w*|put\w*|stick\w*|push\w*|lean\w*|clear\w*|poke\w*|grab\w*)\b.{{0,24}}\b(?:under|into|in|inside|near|from|out of|at)\b.{{0,16}}\b(?:running|spinning|moving|rotating|turning|switched-on)\b (?:\w+ ){{0,2}}\w+|"
           rf"(?:{_HAND}|scarf|tie|necklace|\breach\w*)\b.{{0,24}}\b(?:under|into|in|inside|between)\b.{{0,16}}\b(?:running|spinning|rotating|rollers|gears|conveyor|press|shredder|blender|mixer|mincer|chipper|auger|propeller|hinges?|closing door|sewing machine)\b|"
           rf"\bcaught in\b.{{0,16}}\b(?:machine|rollers|gears|conveyor|chain|spokes|press|belt|lathe)|\bchain ?saw\b.{{0,16}}\b(?:one|a single) hand|"
           r"\bkicks? back\b|\bchain ?saw\b.{0,16}\b(?:jumps|bucks)",
           r"\b(?:running (?:water|tap|stream|shoes?|(?:it|them) under)|tap|shoes?|stops?|unplug\w*|pocket|bag|drawer|treadmill|dishwasher|washing machine|dryer|ball|train|walkway|escalator)\b|\b(?:switched|turned) off\b", "hands off what is moving"),
    Hazard("unprotected", rf"\b(?:weld|grind|chain ?saw|saw|drill|sand|spray|mow|trim|climb|abseil|roof|scaffold|hammer|chop|blast)\w*\b.{{0,60}}\bwithout (?:a |an |any |the |his |her |safety |eye |protective |\w+ and )*{_GUARD}|"
           rf"{_CHEMICAL}\b.{{0,40}}\b(?:bare|ungloved|unprotected) (?:hands?|skin|arms?|fingers?)|(?:bare|ungloved|unprotected) (?:hands?|fingers?)\b.{{0,40}}\b(?:{_CHEMICAL}|blood|needle|sharps)|"
           rf"{_CHEMICAL}\b.{{0,20}}\b(?:splash\w*|spills?|drips?|sprays?|spurts?)\b.{{0,20}}\b(?:face|eyes?|skin|{_HAND})|(?:splash|spill|spray)\w*\b.{{0,20}}\b{_CHEMICAL}\b.{{0,16}}\b(?:on|onto|over|in)\b",
           r"\b(?:dough|oven|closed|lid on|citric|salad|takes? off|checks?)\b", "protect yourself first"),
    Hazard("child", rf"\b{_SMALL}\b.{{0,40}}\b(?:reach\w*|grab\w*|pull\w*|crawl\w*|climb\w*|run\w*|lean\w*|put\w*|roll\w*|toddl\w*|wander\w*|walk\w*|stand\w*|play\w*|chew\w*|suck\w*|swallow\w*|lick\w*|touch\w*|slip\w*|slid\w*|jump\w*)\b.{{0,40}}"
           r"\b(?:hot|stove|hob|oven|pan handle|kettle|iron|candle|fire|fireplace|knife|scissors|socket|outlet|plug|stairs|staircase|balcony|window ?sill|open window|railing|road|street|traffic|car park|pool|pond|river|well|pills?|tablets|medicine|bleach|cleaner|battery|batteries|lighter|matches|plastic bag|cable|razor|saw|drill|mower|"
           r"(?:edge|side|end) of (?:the |a )?(?:\w+ )?(?:table|bed|sofa|pool|platform|roof|pier|worktop|counter|bunk)|coin|marble|bead|magnet|button cell|nut|peanut)\b|"
           rf"\b{_SMALL}\b.{{0,30}}\b(?:chok(?:es|ing)|turns? blue|goes under|face down in)|\b{_SMALL}\b.{{0,24}}\b(?:alone|unattended)\b.{{0,16}}\b(?:bath|tub|car|changing table|pool|pram|kitchen|water|balcony)|"
           rf"\ballerg\w*\b.{{0,40}}\b(?:reach|eat|bit|swallow|tast)\w*\b",
           r"\b(?:helps?|held by|(?:holding|holds) (?:\w+ ){1,2}hand|hand of|with (?:the |a |his |her |its )(?:\w+ )?(?:teacher|mother|father|parents?|mum|mom|dad|trainer|coach)|mother's hand|father's hand|barrier|toy|away from|gate|watch\w* the fire|in the (?:picture|photo)|street ?light|drawing|sets? the table|play(?:s|ing) (?:a |the )?(?:game|piano|cards)|puts? (?:the )?(?:coin|coins|money) (?:in|into) the (?:slot|machine|piggy))\b", "the child"),
    Hazard("dose", r"\b(?:takes?|swallow\w*|gives?|inject\w*|pours?)\b.{0,40}\b(?:second|double|twice the|another|two|too many)\b.{0,16}\b(?:dose|doses)\b|"
           r"\b(?:pills?|tablets?|medicine|painkillers?|sleeping pills?)\b.{0,24}\bwith (?:a |some |the )?(?:glass of )?(?:wine|beer|whisky|whiskey|vodka|alcohol)",
           r"\b(?:as prescribed|next week|does not|doesn't)\b", "check the dose"),
    Hazard("gas", r"\b(?:smell\w*|hiss\w*|leak\w*|escap\w*)\b.{0,16}\bgas\b|\bgas\b.{0,16}\b(?:leak\w*|hiss\w*|escap\w*)|"
           r"\b(?:engine|generator|barbecue|charcoal|car|gas heater|gas stove|camping stove)\b.{0,24}\b(?:runs?|running|burns?|burning|glow\w*)\b.{0,24}\b(?:closed|indoors|in the tent|inside the tent)",
           r"\b(?:stops?|stopped|no|tea|petrol station)\b", "gas or fumes, get air"),
    Hazard("fumes", r"\bbleach\b.{0,40}\b(?:ammonia|vinegar|acid|drain cleaner|toilet cleaner|alcohol)|\b(?:ammonia|vinegar|acid)\b.{0,40}\bbleach\b",
           r"\b(?:shelf|cupboard|shop|store)\b", "never mix those cleaners"),
)  # fmt: skip
_TOOL = r"(?:tool|hammer|mallet|drill|saw|screwdriver|wrench|spanner|pliers|brush|roller|knife|pen|racket|spatula|scissors|shears|chisel|file|plane|trowel|iron|mop|shovel|spade|rake|hoe|axe|camera)"
# Technique that a small change of grip, angle or force mends; dangers stand above, wrong steps are no technique.
TECHNIQUES: tuple[Hazard, ...] = (
    Hazard("shaky hold", r"(?:film|record|photograph|hold|shoot)\w*\b.{0,30}\b(?:phone|camera|glass|tray)\b.{0,24}\b(?:one|single) (?:\w+ )?hand\b.{0,16}(?:shak|wobbl|trembl|unstead)|"
           r"\b(?:one|a single) (?:shaky|shaking|trembling|unsteady|wobbly) hand|\b(?:phone|camera)\b.{0,16}\b(?:shakes|wobbles|trembles)",
           r"\bboth hands|tripod\b", "use both hands"),
    Hazard("too hard", r"(?:squeez|press|push|grip|pull|hammer|tighten|twist|rub|scrub)\w*\b.{0,40}\b(?:too (?:hard|tight\w*|forcefully|strongly)|with too much force|very hard)|overtighten\w*",
           r"\b(?:avoid|not too)\b", "use less force"),
    Hazard("bending", r"\b(?:needle|blade|saw|drill bit|bit|nail|rod|tip|ruler|chisel|spatula)\b.{0,12}\b(?:bends?|bending|flexes|flexing|buckles|buckling|bows|wobbles|wobbling|wanders|skates)\b|\b(?:strips?|rounds? off|chews up|mangles) (?:the )?(?:head of )?(?:the )?(?:screw|bolt|nut|thread|head)|\b(?:screw|bolt|nut)\b.{0,12}\b(?:head|thread)?\b.{0,8}\b(?:strips|is stripped|rounds off)",
           r"\b(?:on purpose|wire|straighten\w*)\b", "ease off, use less force"),
    Hazard("overloaded", r"\b(?:overload|overfill|over-?fill)\w*\b|\btoo much (?:paint|glue|varnish|plaster|mortar|sealant|filler|grease|icing|polish|solder)\b|\b(?:paint|glue|varnish|ink|plaster|mortar|sealant|lacquer)\b.{0,16}\b(?:drip|run|blob|ooz|splatter)\w*\b.{0,24}\b(?:roller|brush|nozzle|gun|trowel|tube|pen)",
           r"\b(?:bus|train|lorry|tray)\b", "take less at a time"),
    Hazard("too fast", r"\b(?:drill|saw|sand|plan|turn|crank|pump|solder|sew|grind|mill|pour|pedal|lower|lift|strok|row|whisk|stir|beat|mix|blend|paint|spray|roll|swing|squat|curl|press|screw|plan(?:e|es|ing)|knead|brush|iron|cut|hammer)\w*\b.{0,40}\b(?:too (?:fast|quickly|hastily)|at too high (?:a )?speed|jerk(?:s|y|ily|ing)?)\b",
           r"\b(?:not too)\b", "go slower"),
    Hazard("distance", r"\b(?:pour|water|spray|drop|drip|sprinkl|fill|paint|film|photograph|shoot|weld|iron|blow|blast|wash|rins|shower|vacuum)\w*\b.{0,40}\b(?:from )?too (?:high|far(?: away)?|close|near)\b",
           r"\bnot too\b", "mind the distance"),
    Hazard("tip", r"\b(?:only|just) (?:with |using |us\w* )?(?:the )?(?:very )?tips? of (?:the |a )?(?:\w+ )?(?:scissors|shears|blade|knife|saw|pliers|wrench|spanner|chisel)",
           r"\btouch", "use the whole blade"),
    Hazard("blunt", r"\b(?:with|us\w*) (?:a |an |the )?(?:blunt|dull|worn|chipped|bent|cracked|loose) (?:\w+ )?(?:knife|blade|saw|chisel|axe|scissors|bit|needle|tool|shears|razor|handle|hammer|head)|\b(?:hammer|axe) head\b.{0,10}\b(?:is|sits) loose",
           r"\b(?:sharpen|replac|throw)\w*\b", "take a sound, sharp tool"),
    Hazard("slipping", rf"\b{_TOOL}\b.{{0,16}}\b(?:slips|keeps slipping|slid(?:es)? off|jams|sticks)\b",
           r"\bpocket|drawer|floor\b", "press straight, turn slowly"),
    Hazard("short grip", rf"(?:hold|grip|grasp)\w*\b.{{0,16}}\b(?:{_TOOL}|bat|club|paddle|oar|bow|pen|pencil|scalpel|chopsticks)\b.{{0,8}}\btoo (?:high|low|far (?:up|down|back)|close|short)|" r"(?:hold|grip|grasp)\w*\b.{0,24}\b(?:hammer|axe|racket|broom|brush|mallet)\b.{0,24}\b(?:close to|near|at|by) (?:its|the) (?:head|top|bristles)",
           r"\binstead of\b", "hold it at the end"),
    Hazard("tilted", rf"(?:hold|grip|us|driv|push|keep|place|insert|swing)\w*\b.{{0,24}}\b(?:{_TOOL}|syringe|needle|nail|rod|bow|oar|club|razor)\b.{{0,24}}\b(?:at|in) (?:the|a|an) (?:wrong|bad|odd|awkward) angle|" r"(?:hold|us|driv|push|keep)\w*\b.{0,24}\b(?:drill|screwdriver|saw|chisel|planer?|needle|nail)\b.{0,30}\b(?:at an angle|tilted|crooked|askew|slanted)|"
           r"\bdrill\w* (?:at an angle|crooked)",
           r"\b(?:correct|straighten|lies|mitre|miter|on purpose)\w*\b", "hold it straight"),
    Hazard("bent back", r"(?:lift|pick|carr|mov|shovel|dig|heav)\w*\b.{0,40}\b(?:bent|rounded|round|curved|hunched|twisted|crooked) back|\bfrom the (?:lower )?back\b.{0,16}\binstead",
           r"\bstretch", "lift from your knees"),
    Hazard("posture", r"\b(?:squat|deadlift|lunge|push-?up|plank|row|press|swing|serv|run|land|kick|throw|pull|bench|curl|type|typ|rid|ski|putt?|bow)\w*\b.{0,40}\b(?:round(?:ed)? back|back (?:is )?(?:round|rounded|arched)|arched back|knees? (?:cav|buckl|collaps|fall)\w* in\w*|locked (?:knees|elbows)|hips? sag\w*|heels? lift\w*|bent wrists?|wrists? bent|stiff (?:arms?|legs?))",
           r"\bstretch", "mind your posture"),
    Hazard("wrong way round", rf"\b(?:hold|grip|grasp|us|swing|carr)\w*\b.{{0,24}}\b(?:{_TOOL}|bat|club|paddle|oar|bow|spanner|trowel|rake|ladder|chisel|stethoscope|syringe|torch|baby bottle|needle)\b.{{0,24}}\b(?:upside down|backwards|(?:the )?wrong way (?:round|around|up)|(?:by|at|with) the wrong (?:end|side|grip))",
           r"\bturns it\b", "turn it round"),
    Hazard("wrong tool", r"(?:us\w*|with) (?:a |the |his |her )?(?:knife|coin|fingernail|teeth|scissors|fork)\b.{0,20}\b(?:as|instead of|like) (?:a |an |the )?(?:screwdriver|chisel|lever|opener|hammer|wrench)|"
           r"(?:screwdriver|bit|wrench|spanner|socket|blade)\b.{0,24}\b(?:too (?:small|large|big)|wrong size|does not fit)",
           r"\bnot\b(?! fit)", "take the tool that fits"),
)  # fmt: skip
_INSTALLS = r"(?:insert|put|plac|attach|mount|install|screw|fit|fasten|assembl|sew|glu|nail|button|wir|connect|plug|load|tap|stick|stitch|bolt|hang|fix|set|wear|pull|slid|stack|fold|press|clip)\w*"
_CHOOSES = r"(?:select|choos|press|push|turn|set|switch|click|open|tak|pick|us|enter|typ|send|add|pour|put|plac|insert|attach|mount|fill|load|mix|cut|get|board|dial|delet|screw|connect|plug|giv|hand|drill|paint|deliver|install|grab|unlock|sign|label|writ|tighten|loosen|remov|throw|sort)\w*"
# Work that has to be undone and done again, where perception names the mistake itself.
MISTAKES: tuple[Hazard, ...] = (
    Hazard("wrong way", rf"\b{_INSTALLS}\b.{{0,48}}\b(?:(?:the |in the )?wrong way(?: round| around| up)?|upside[ -]down|back to front|inside out|backwards?|in reverse|with reversed polarity|the wrong side (?:up|out|first)|on the wrong side|in the wrong (?:order|direction|orientation))\b",
           r"\b(?:pan|lid|cup|mug|bowl|glass|glasses|plate|pot|jar|bottle|bucket|chairs?|stool|cafetiere|wet|empty|drain|dry|on purpose|yoga|hand ?stand|steps? back|backwards? (?:out|into|down|up|through|towards?)|mov\w* backwards?|because|to clean|turns? it)\b", "Wrong way round"),
    Hazard("wrong thing", rf"\b{_CHOOSES}\b.{{0,40}}\b(?:the|a|an) wrong (?!way|side|order|direction|orientation|number plate|angle|end|grip|hand)\w+",
           r"\b(?:says|sign|reads?|game|quiz|test|answers?)\b", "That is the wrong one"),
    Hazard("mix-up", rf"\b{_CHOOSES}\b.{{0,40}}\b(?:by mistake|mistakenly|in error)\b|\b(?:accidentally|mistakenly|by mistake)\b.{{0,8}}\b{_CHOOSES}\b|\b(?:salt|sugar|vinegar|oil|diesel|petrol)\b.{{0,40}}\binstead of (?:the )?(?:salt|sugar|vinegar|oil|diesel|petrol|water|milk|flour)\b",
           r"\b(?:on purpose|touch\w*|then)\b", "That was a mix-up"),
    Hazard("nothing under it", r"\b(?:start|turn|switch|run|press|brew|pour)\w*\b.{0,40}\b(?:machine|dispenser|tap|printer|dishwasher|blender|mixer|grinder)\b.{0,16}\bwithout (?:a |an |any |the |its |putting (?:a |the |in )?)?(?:cup|mug|glass|jug|pot|filter|lid|bag|detergent|tablet|paper|container|bowl|water)",
           r"\bstops?\b", "Something is missing"),
)  # fmt: skip
_COMPILED = tuple((h, re.compile(h.sign), re.compile(h.unless)) for h in TABLE)
_MISTAKES = tuple((h, re.compile(h.sign), re.compile(h.unless)) for h in MISTAKES)
_TECHNIQUES = tuple((h, re.compile(h.sign), re.compile(h.unless)) for h in TECHNIQUES)
_ELSEWHERE = re.compile(
    r"\b(?:on|in) (?:the |a )?(?:tv|television|screen|film|movie|video|photo|picture|poster|book|magazine|game)\b|\btoy\b"
    r"|\b(?:photo|picture|drawing|painting|video|poster|statue|story|model) of\b|\b(?:do not|don't|so as not to|never|avoid|make sure|be careful)\b"
)


@lru_cache(maxsize=8192)
def warning(text: str) -> Hazard | None:
    """The acute danger one perceived sentence tells of, if any."""
    return _find(text, _COMPILED)


@lru_cache(maxsize=8192)
def advice(text: str) -> Hazard | None:
    """The bad technique one perceived sentence tells of, if any."""
    return _find(text, _TECHNIQUES)


@lru_cache(maxsize=8192)
def mistake(text: str) -> Hazard | None:
    """The mistake to be undone that one perceived sentence names, if any; what is being put right is none."""
    return None if _REPAIRS.search(text.lower()) else _find(text, _MISTAKES)


_REPAIRS = re.compile(
    r"\b(?:correct|repair|notic|realiz|realis|undo|undoes|revers|swap|replac|return|check)\w*\b|\bturns?(?:ing)? (?:it |the \w+ |them )?(?:around|round|over)\b|\b(?:takes?|taking|pulls?|pulling|puts?|putting|removes?|removing) (?:\w+ ){0,3}(?:out|off|back|away)\b"
)


def warnings(unit: Screening, window: Window, items: Sequence[Item], wearer: frozenset[str]) -> list[Service]:
    """A safety service for each danger of a window, at the moment it was first perceived there; where there is none,
    one error_recovery for the first mistake that is named, or one tool_use for the first slip of technique.
    """
    found: dict[str, Service] = {}
    slips: list[Service] = []
    wrong: list[Service] = []
    for item in items:
        if item.kind == "speech" or (item.kind == "event" and item.subject.lower() not in wearer):
            continue
        text = f"{item.action} {item.object}" if item.kind == "event" else item.text
        refs = (f"o{item.id}", f"w{window.id}")
        hazard = warning(text)
        if hazard is not None and hazard.name not in found:
            told = speak("safety", hazard=hazard.say)
            found[hazard.name] = service("safety", item.t, told, refs, hazard.name, unit, "A")
        own = all(mine for _, mine in doings(item, wearer))
        error = mistake(text) if own else None
        if error is not None:
            told = speak("error_recovery", mistake=error.say, remedy="undo it and do it again")
            wrong.append(service("error_recovery", item.t, told, refs, f"{error.name}@{item.t // US}", unit, "A"))
        slip = advice(text) if own else None
        if slip is not None:
            told = speak("tool_use", advice=slip.say[0].upper() + slip.say[1:])
            slips.append(service("tool_use", item.t, told, refs, slip.name, unit, "A"))
    return list(found.values())[:2] or wrong[:1] or slips[:1]


def _find(text: str, table: tuple[tuple[Hazard, re.Pattern[str], re.Pattern[str]], ...]) -> Hazard | None:
    low = text.lower().replace("\u2019", "'")
    if _ELSEWHERE.search(low):
        return None
    return next((h for h, sign, unless in table if sign.search(low) and not unless.search(low)), None)

"""Function words: words with little information about the subject of a text.

Three sets, because three uses differ: a query loses only the words of any question, the weight of a word in a
sentence is judged by grammar, and the name of a cluster should not be a small word of any common language.
"""

from __future__ import annotations

# Left out of a lexical query that has other words. Few: a word that is left out cannot be found.
_QUESTION = """a about an and are as at be by can do does for from how i if in is it my of on or that the this to was
what when where which who why will with you"""
QUERY = frozenset(_QUESTION.split())
# Articles, pronouns, auxiliaries, prepositions, conjunctions and particles, with the pieces of "don't" and "we'll".
_GRAMMATICAL = """a an the this that these those some any each every no all both either neither i me my mine you your
yours he him his she her hers it its we us our ours they them their theirs who whom whose which what there here one
oneself myself yourself himself herself itself ourselves themselves be am is are was were been being do does did done
doing have has had having will would shall should can could may might must ought not n't s 's 'm 're 've 'd 'll t of
in on at by for with without from to into onto upon over under above below between among through during before after
since until about against along across behind beside beyond near off out up down as than like per via and or but nor
so yet if then because although though while when where why how whether very too also just only even still again
already quite rather more most much many few less least other another such own same"""
ENGLISH = frozenset(_GRAMMATICAL.split())
# Frequent words of English that are not function words, but no more telling as the name of a group of texts.
_ENGLISH_COMMON = """new now see two way get let say use know want time come long make take well further often within
perhaps around don isn aren wasn weren doesn didn hasn haven won wouldn shouldn couldn"""
_GERMAN = """der die das den dem des ein eine einer eines einem einen und oder aber nicht ist sind war waren wird
werden wurde wurden hat haben hatte sich mit von vom zum zur bei aus auf für über unter nach vor durch ohne gegen
bis auch nur noch schon sehr wie was wer wenn weil dass als man kann können soll muss mehr diese dieser dieses ihre
ihr sein seine sie wir ihn ich mein keine kein immer dann hier dort beim"""
_FRENCH = """les des une est sont été était dans par pour pas sur avec sans sous plus que qui quoi dont mais où donc
ses son sur leur leurs nous vous ils elle elles ces cet cette aux ont avait être avoir fait comme entre aussi
très"""
_SPANISH = """los las una unos unas del con por para sin sobre que como más pero sus este esta esto ese esa son fue
era han ser está muy también entre cuando donde hasta desde nos"""
_ITALIAN = """gli una uno del della dello dei delle degli nel nella nei nelle con per che chi non sono era più anche
come suo sua loro questo questa dal dalla alla alle allo agli sul sulla"""
_DUTCH = """het een van voor met aan uit bij door over naar dat die deze dit niet zijn was waren wordt worden hebben
heeft ook maar als wel nog meer hun zij wij"""
_PORTUGUESE = """uma uns umas dos das com por para sem sobre que como mais mas seu sua este esta isso são foi era ser
está muito também entre quando onde até pelo pela aos nos nas"""
# For names of clusters, of three letters and more.
MULTILINGUAL = ENGLISH.union(
    *(words.split() for words in (_ENGLISH_COMMON, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _DUTCH, _PORTUGUESE))
)

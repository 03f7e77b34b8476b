"""Small words of some languages: they tell nothing about what a text is about."""

from __future__ import annotations

ENGLISH = """the and for are but not you all any can had her was one our out has him his how its may new now see two
way who did get let say she too use that with have this will your from they know want been much some time very when
come here just like long make many more only over such take than them well were what about above after again also
because before being below between both could does doing down during each few further having into itself most must
off other ought same should their theirs then there these those through under until upon where which while whom why
would yours even every often without within since still though although perhaps rather around among across per via
don isn aren wasn weren doesn didn hasn haven won wouldn shouldn couldn himself herself themselves"""
GERMAN = """der die das den dem des ein eine einer eines einem einen und oder aber nicht ist sind war waren wird
werden wurde wurden hat haben hatte sich mit von vom zum zur bei aus auf für über unter nach vor durch ohne gegen
bis auch nur noch schon sehr wie was wer wenn weil dass als man kann können soll muss mehr diese dieser dieses ihre
ihr sein seine sie wir ihn ich mein keine kein immer dann hier dort beim"""
FRENCH = """les des une est sont été était dans par pour pas sur avec sans sous plus que qui quoi dont mais où donc
ses son sur leur leurs nous vous ils elle elles ces cet cette aux ont avait être avoir fait comme entre aussi
très"""
SPANISH = """los las una unos unas del con por para sin sobre que como más pero sus este esta esto ese esa son fue
era han ser está muy también entre cuando donde hasta desde nos"""
ITALIAN = """gli una uno del della dello dei delle degli nel nella nei nelle con per che chi non sono era più anche
come suo sua loro questo questa dal dalla alla alle allo agli sul sulla"""
DUTCH = """het een van voor met aan uit bij door over naar dat die deze dit niet zijn was waren wordt worden hebben
heeft ook maar als wel nog meer hun zij wij"""
PORTUGUESE = """uma uns umas dos das com por para sem sobre que como mais mas seu sua este esta isso são foi era ser
está muito também entre quando onde até pelo pela aos nos nas"""
FUNCTION_WORDS = frozenset(
    word for told in (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, DUTCH, PORTUGUESE) for word in told.split()
)

"""Function words: words with little information about the subject of a text.

Three sets, because three uses differ: a query loses only the words of any question, the weight of a word in a
sentence is judged by grammar, and the name of a cluster should not be a small word of any common language.

A query loses question words in other languages too: in a folder of a dozen notes "warum" is as rare as the subject, and
would count as much. Other function words of these languages are searched for: leaving them out lowered what was found.
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
# Words of any question in other languages.
QUESTION = """
warum wieso weshalb wie wann wer wen wem wo woher wohin wieviel wieviele welche welcher welches welchen welchem
pourquoi quand combien quel quelle quels quelles quoi
cómo cuándo dónde quién quiénes cuánto cuánta cuántos cuántas cuál cuáles qué porqué
perché perchè quando quanto quanti quante quale quali
quem quantos quantas quais
waarom wanneer waar welke hoeveel hoelang
varför hur när vad hvordan hvorfor hvornår hvor hva hvad hvem hvilken hvilket
miksi miten milloin missä mikä kuinka kuka
dlaczego jak kiedy gdzie kto ile jaki jaka jakie czy
proč kdy kdo kolik jaký jaká jaké prečo kedy kto koľko ako
zašto kako kada gdje gde tko zakaj kdaj kje kdo
miért hogyan mikor hol hány melyik milyen
când câți câte cât
nasıl niçin nerede nereye kaç hangi
kodėl kaip kada kiek kāpēc cik kuidas miks millal mitu
mengapa kenapa bagaimana kapan dimana siapa berapa
почему как что когда где кто зачем сколько какой какая какое какие чем ли
чому як що коли де хто навіщо скільки який яка яке які
защо кога къде кой колко зашто како када где
γιατί πώς πότε πού ποιος ποια ποιο πόσο τι
למה מדוע איך כיצד מתי איפה מי מה האם כמה
لماذا كيف متى أين ماذا ما كم هل
چرا چگونه چطور کجا کی چند آیا
क्यों कैसे कब कहाँ क्या कौन कितना कितने
"""
QUESTION_IN = {  # words of a question in one language, and of something else in English or in many
    "fr": "comment qui que où",
    "it": "come dove chi cosa che quanta",
    "es": "por como que cuando donde quien cuanto",
    "pt": "como que por porque onde qual",
    "nl": "hoe wat",
    "sv": "var vem",
    "cs": "co kde",
    "sk": "čo kde",
    "pl": "co",
    "ro": "cum unde care ce cine",
    "hr": "ko",
    "ca": "com quan on quina quin",
    "hu": "ki mi",
    "tr": "ne neden kim mi",
    "lt": "kur kas",
    "lv": "kur kas kad kā",
    "et": "kus kes",
    "id": "apa",
    "vi": "sao gì nào đâu ai",
}
QUESTION_UNSPACED = (
    "什么时候|什麼時候|为什么|為什麼|为何|為何|怎么样|怎么|怎麼|怎样|怎樣|如何|什么|什麼|哪里|哪裡|哪个|多少|何时|何時"
    "|なぜ|どうして|どうやって|どのように|どうすれば|どこ|いつ|ですか|ますか"
    "|어떻게|무엇인가요|무엇을|무엇|언제|어디|얼마나|어떤|무슨|누가|왜"
    "|ทำไม|อย่างไร|เมื่อไร|เมื่อไหร่|ที่ไหน|อะไร"
)

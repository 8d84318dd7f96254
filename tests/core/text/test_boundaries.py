"""Sentence ends that sentencex does not find or finds too many of: a table, a bar at each end."""

import pytest

from ragsieve.text import sentence_spans

CASES = [
    ("en", "Moreau et al. [2011] measured tides.|The survey was repeated in 2015."),
    ("en", "It drifts by 4 mm (Hanley et al. [12]).|Others disagree."),
    ("en", "It was shown by Hanley et al. [12].|Others disagree."),
    ("en", "As shown (see Fig. [3]) well.|Next."),
    ("en", "The letter went to Prod. & Dev. through the post on Monday.|Nobody replied."),
    ("en", "Research & Dev. is on floor two.|Sales is on floor one."),
    ("en", "It took approx. 4200 men.|Cf. vol. 3 and vol. 4, est. 1900."),
    ("en", "It is at approx. the gate, cf. the map.|Go there."),
    ("en", "The store sells plums etc.|The cellar is closed."),
    ("en", "Fill in https://a.example.org/form/S_9?Q_DL=x1.y2&Q=email by Friday.|Late ones go."),
    ("en", "Open www.example.org/search?Query=Pier!All now.|It is free."),
    ("en", "He left (it rained.)|Then it snowed."),
    ("en", "It rained.|(We stayed in.)|Then we left."),
    ("en", "He taught (She had worked as an engineer.) at the local school.|It closed."),
    ("en", "Ida was born in the '60s.|She moved twice.|The dogs' home closed in 1999.|It rained."),
    ("en", "In the ’90s it grew … the fans’ club met.|It closed.|Nobody came."),
    ("en", "Come to 's-Gravenhage.|The office opens at eight.|Press the ''ring'' button.|Go."),
    ("en", "He said: “I arrived at the depot at nine.|The gate was open.|Nobody was in the office."
           "|I left a note.”|The court agreed."),
    ("en", "“Go away now, all of you.|I do not want to see one of you here again!”|She left."),
    ("en", "“Go! Now!” he said.|“Never.”|She left."),
    ("ru", "«К чему ты готовишься? – спросила мама. – Завтра ведь выходной у тебя».|Он ушёл."),
    ("en", '"Ei fu. Siccome immobile / dato il mortal sospiro / la spoglia" (Manzoni).|He left.'),
    ("en", "“Here I sing to the beat / of a strange and very long pain. / [...] ”.|He left."),
    ("en", "It hunts.|![Heron in reeds](./img/heron.png) shows it.|It stands."),
    ("en", "It ended.|Then it began.|See node.js or a.b.c."),
    ("en", "J. R. Whitlow founded it in 1871.|His son sold it to Smith Jr. in May."),
    ("de", "Es kostet ca. 40 Euro, vgl. die Liste.|Am 3. Oktober 1960 wurde er eröffnet."),
    ("en", "The second try broke....|We moved the lamp.|It held.|Nobody knew why."),
    ("en", "Karl Brook Sr. mends nets at dawn.|Karl Brook Jr. sells them.|They share a boat."),
    ("en", "Mail dock.hand@example.com if lib/net/pump.py stops.|Set rate.max in v3.2.1-b.2!|Go."),
    ("en", "The port was fined €2.4m after a fall.|A plea costs about $0.75m, i.e. 8.5 per cent."),
    ("en", "It is over Marsh et al. (US 2009/04567) and Dunn (US 2012/09876).|It stands."),
    ("zh", "他说他会来……可是没有来。|请带上雨伞；外面在下雨。|明天上午八点集合！"),
    ("en", "It voted at 5 p.m. Monday.|Cf. App. B there.|Fort Ray is near Ft. Vancouver."),
    ("en", "1. Open the door.|2. Go in.|Add 2 tbsp. of oil.|Wham! was a band.|It ended."),
    ("en", "(use \"git add <file>...\" to include it) Nothing is lost.|It stays."),
    ("en", "it rained.|we left.|nobody saw it."),
    ("en", "It costs 5.[^1]|Rent is 9.[^a-b][^2]|Go![12, 13]|Is it so?[a]|It [1] ends."),
    ("en", "**Boys.** eat two.|**No. Never.** Go.|It is 2**3.|** a **.|Go."),
    ("en", "*Is it far?* Two miles.|Take the bus.|It runs."),
    ("de", "Das 19. Jahrhundert endete.|Er wurde 3.|Der 1. FC siegte.|Vgl. Abs. 2.|Es gilt."),
    ("fr", "M. Dupont est là.|Il est né av. J.-C. ou apr. J.-C.|L'art. 5 du C. civ. le dit."),
    ("es", "La Sra. Pérez vive.|Véase pág. 4.|Abre a las 5 p. m. en punto."),
    ("pt", "Mora na Av. Paulista.|O art. 5.º diz isso.|Fim."),
    ("nl", "Mevr. De Vries komt.|Zie blz. 3.|D.w.z. morgen."),
    ("ru", "См. рис. 3.|Это стоит много.|Им. Горького."),
    ("tr", "5. sayfaya bakın.|Vb. şeyler.|Geldi."),
    ("hi", "यह दूसरा है।|डॉ. शर्मा आए।|क्या यह तीसरा है?"),
    ("th", "พ.ศ. 2560 เกิดเหตุ"),
    ("en", "It is 5 incl. VAT today.|Go to Hauptstr. 12, room 4.|It is open."),
    ("fr", "Il dit, cf. art. L. 221-18 du Code.|Il est vrai."),
    ("ru", "До 5 окт. 2025 года.|Потом нет."),
    ("ar", "هذا هو الأول.|جاء د. أحمد مساء.|نعم هو."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "marked"), CASES)
def test_sentences_end_where_a_reader_ends_them(language: str, marked: str) -> None:
    """Abbreviations, citations, addresses, brackets, apostrophes, quotations."""
    text = marked.replace("|", " " if language != "zh" else "")
    spans = sentence_spans(text, language=language)

    assert marked.split("|") == [text[start:end] for start, end in spans]

"""Tokens are not counted too few: the most of four real tokenizers, for many scripts."""

from __future__ import annotations

import pytest

from ragsieve import models

MOST = [  # a text, and its most tokens by SmolLM2, Qwen, Claude 2 and MiniLM
    (
        "All human beings are born free and equal in dignity and rights. They are endow"
        "ed with reason and con",
        20,
    ),
    (
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit "
        "Vernunft und Gewissen ",
        37,
    ),
    (
        "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền lợi"
        ". Mọi con người đều đư",
        90,
    ),
    ("Gbogbo ènìyàn ni a bí ní òmìnira; iyì àti ẹ̀tọ́ kọ̀ọ̀kan sì dọ́gba.", 59),
    (
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наде"
        "лены разумом и совесть",
        84,
    ),
    ("Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.", 85),
    ("يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً.", 70),
    ("تمام انسان آزاد اور حقوق و عزت کے اعتبار سے برابر پیدا ہوئے ہیں۔", 69),
    ("כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון.", 91),
    ("सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है।", 93),
    ("সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে।", 127),
    ("மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்.", 105),
    ("ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులును సమానులును నగుదురు.", 232),
    ("മനുഷ്യരെല്ലാവരും തുല്യാവകാശങ്ങളോടും അന്തസ്സോടും സ്വാതന്ത്ര്യത്തോടുംകൂടി ജനിച്ചവരാണ്.", 187),
    ("પ્રતિષ્ઠા અને અધિકારોની દૃષ્ટિએ સર્વ માનવો જન્મથી સ્વતંત્ર અને સમાન હોય છે.", 201),
    ("ਸਾਰਾ ਮਨੁੱਖੀ ਪਰਿਵਾਰ ਆਪਣੀ ਮਹਿਮਾ, ਸ਼ਾਨ ਅਤੇ ਹੱਕਾਂ ਦੇ ਪੱਖੋਂ ਜਨਮ ਤੋਂ ਹੀ ਆਜ਼ਾਦ ਹੈ।", 194),
    ("සියලු මනුෂ්‍යයෝ නිදහස්ව උපත ලබා ඇත.", 92),
    ("มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม", 163),
    ("ມະນຸດເກີດມາມີສິດເສລີພາບ ແລະ ສະເໝີໜ້າກັນ", 119),
    ("មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព", 110),
    ("လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် မွေးဖွားလာသူများ ဖြစ်သည်။", 192),
    ("འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས།", 165),
    ("人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。", 74),
    ("すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。", 72),
    ("모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.", 85),
    ("ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.", 144),
    ("Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։", 150),
    ("የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው።", 113),
    ("ᏂᎦᏓ ᎠᏂᏴᏫ ᏂᎨᎫᏓᎸᎾ ᎠᎴ ᎤᏂᏠᏱ ᎤᎾᏕᎿ", 74),
    ("ᠬᠦᠮᠦᠨ ᠪᠦᠷ ᠲᠥᠷᠥᠵᠦ", 44),
    ("ಎಲ್ಲಾ ಮಾನವರೂ ಸ್ವತಂತ್ರರಾಗಿಯೇ ಜನಿಸಿದ್ದಾರೆ.", 112),
    (
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicda"
        "na sahiptirler.",
        45,
    ),
    ("😀🎉👍🏽 👨‍👩‍👧‍👦 🇫🇷❤️‍🔥", 45),
    ("3.14159265358979 2718281828 1234567890123456789 42", 50),
    ("THE QUICK BROWN FOX JUMPED OVER THE LAZY DOG AND HTTP_STATUS_CODE IS MAX_INT", 30),
    (
        "| Room | Low season | High season |\n|---|---|---|\n| Single | 60 | 84 |\n| Doubl"
        "e | 71 | 97 |\n",
        42,
    ),
    (
        "def fee(nights, late):\n    total = nights * 14\n    if late:\n        total += 2"
        "5\n    return {'total':",
        32,
    ),
    (
        "c5d71484-f8cf-9bf4-b76f-47904730804b 9e3225a9-f133-b5de-a168-f4e2851f072f cc00"
        "fcaa-7ca6-2061-717a-48",
        93,
    ),
    (
        "C5D71484F8CF9BF4B76F47904730804B9E3225A9F133B5DEA168F4E2851F072FCC00FCAA7CA620"
        "61717A48E52E29A3FA379A",
        92,
    ),
    ("Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv.", 37),
    (
        "xdcUhPjPm/S3b0eQRzCAS54yJanxM7XeoWj04oUfBy/MAPyqfKYgYXF6SOUuKaP6N5qVP6pok+Muxa"
        "J7lF5gXxCF8yMtQkwTKciNeG7WjOb8tiqmO/mrYXwIijtwvleq2h8zSnAXJQ0/YD3ILr07EgtjXj/1"
        "ax8L2TOFI3EkmrPfXB/vFDPIZoW38FZoHVFSr4A84lkG8dGftsaATgbqKKsXj0V69rSTt0OextQpAG"
        "KrUXpy5cHUEM3WF1TkIIRQ5PkA",
        211,
    ),
    (
        "c5d71484f8cf9bf4b76f47904730804b9e3225a9f133b5dea168f4e2851f072fcc00fcaa7ca620"
        "61717a48e52e29a3fa379a953faa6893e32ec5a27b945e605f1085f3232d424c1329c88d786ed6"
        "8ce6fcb62aa63bf9ab617c088a3b70be57aada1f334a7017250d3f603dc82ebd3b120b635e3ff5"
        "6b1f0bd933852371249ab3df5c",
        236,
    ),
]


@pytest.mark.parametrize(("text", "most"), MOST)
def test_tokens_are_not_counted_too_few(text: str, most: int) -> None:
    """At least nine tenths, by the bundled tokenizer."""
    (counted,) = models.load("pruner").count([text])

    assert counted >= 0.9 * most

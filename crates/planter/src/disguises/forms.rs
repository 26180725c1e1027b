//! Other forms of letters, digits and marks: each plain character, then its form.

/// The form a table gives a character.
pub(super) fn of(table: &str, c: char) -> Option<char> {
    let mut chars = table.chars();
    while let (Some(plain), Some(form)) = (chars.next(), chars.next()) {
        if plain == c {
            return Some(form);
        }
    }
    None
}

/// Full-width.
pub(super) fn wide(c: char) -> Option<char> {
    c.is_ascii_graphic().then(|| char::from_u32(u32::from(c) + 0xfee0)).flatten()
}

/// Where capitals, small letters and digits of an alphabet begin; 0 when it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alphabet(pub(super) u32, pub(super) u32, pub(super) u32);

pub(super) const BOLD: Alphabet = Alphabet(0x1d400, 0x1d41a, 0x1d7ce);
pub(super) const ITALIC: Alphabet = Alphabet(0x1d434, 0x1d44e, 0);
pub(super) const BOLD_ITALIC: Alphabet = Alphabet(0x1d468, 0x1d482, 0);
pub(super) const SCRIPT: Alphabet = Alphabet(0x1d49c, 0x1d4b6, 0);
pub(super) const BOLD_SCRIPT: Alphabet = Alphabet(0x1d4d0, 0x1d4ea, 0);
pub(super) const FRAKTUR: Alphabet = Alphabet(0x1d504, 0x1d51e, 0);
pub(super) const DOUBLE_STRUCK: Alphabet = Alphabet(0x1d538, 0x1d552, 0x1d7d8);
pub(super) const SANS: Alphabet = Alphabet(0x1d5a0, 0x1d5ba, 0x1d7e2);
pub(super) const SANS_BOLD: Alphabet = Alphabet(0x1d5d4, 0x1d5ee, 0x1d7ec);
pub(super) const MONOSPACE: Alphabet = Alphabet(0x1d670, 0x1d68a, 0x1d7f6);
/// Of the squares only capitals.
pub(super) const SQUARED: Alphabet = Alphabet(0x1f130, 0, 0);
pub(super) const SEGMENTED: Alphabet = Alphabet(0, 0, 0x1fbf0);
pub(super) const OUTLINED: Alphabet = Alphabet(0x1ccd6, 0, 0x1ccf0);

pub(super) fn math(alphabet: Alphabet, c: char) -> Option<char> {
    let (first, from) = match c {
        'A'..='Z' => (alphabet.0, 'A'),
        'a'..='z' => (alphabet.1, 'a'),
        '0'..='9' => (alphabet.2, '0'),
        _ => return None,
    };
    let code = first + u32::from(c) - u32::from(from);
    let hole = HOLES.iter().find(|(at, _)| *at == code).map(|(_, stands)| *stands);
    (first > 0).then(|| char::from_u32(hole.unwrap_or(code))).flatten()
}

/// Letters that had a place before the mathematical alphabets came.
const HOLES: &[(u32, u32)] = &[
    (0x1d455, 0x210e),
    (0x1d49d, 0x212c),
    (0x1d4a0, 0x2130),
    (0x1d4a1, 0x2131),
    (0x1d4a3, 0x210b),
    (0x1d4a4, 0x2110),
    (0x1d4a7, 0x2112),
    (0x1d4a8, 0x2133),
    (0x1d4ad, 0x211b),
    (0x1d4ba, 0x212f),
    (0x1d4bc, 0x210a),
    (0x1d4c4, 0x2134),
    (0x1d506, 0x212d),
    (0x1d50b, 0x210c),
    (0x1d50c, 0x2111),
    (0x1d515, 0x211c),
    (0x1d51d, 0x2128),
    (0x1d53a, 0x2102),
    (0x1d53f, 0x210d),
    (0x1d545, 0x2115),
    (0x1d547, 0x2119),
    (0x1d548, 0x211a),
    (0x1d549, 0x211d),
    (0x1d551, 0x2124),
];

pub(super) fn circled(c: char) -> Option<char> {
    match c {
        '0' => Some('\u{24ea}'),
        '1'..='9' => char::from_u32(0x2460 + u32::from(c) - u32::from('1')),
        _ => math(Alphabet(0x24b6, 0x24d0, 0), c),
    }
}

pub(super) const CYRILLIC: &str = "\
    a\u{430}c\u{441}e\u{435}i\u{456}j\u{458}o\u{43e}p\u{440}s\u{455}x\u{445}y\u{443}h\u{4bb}d\u{501}\
    q\u{51b}w\u{51d}A\u{410}B\u{412}C\u{421}E\u{415}H\u{41d}I\u{406}J\u{408}K\u{41a}M\u{41c}O\u{41e}\
    P\u{420}S\u{405}T\u{422}X\u{425}Y\u{4ae}3\u{417}6\u{431}";
pub(super) const GREEK: &str = "\
    a\u{3b1}i\u{3b9}o\u{3bf}p\u{3c1}u\u{3c5}v\u{3bd}y\u{3b3}A\u{391}B\u{392}E\u{395}H\u{397}I\u{399}\
    K\u{39a}M\u{39c}N\u{39d}O\u{39f}P\u{3a1}T\u{3a4}X\u{3a7}Y\u{3a5}Z\u{396}";
pub(super) const ARMENIAN: &str =
    "h\u{570}o\u{585}u\u{57d}n\u{578}q\u{566}g\u{581}S\u{54f}O\u{555}U\u{54d}L\u{53c}";
pub(super) const CHEROKEE: &str = "\
    A\u{13aa}B\u{13f4}C\u{13df}D\u{13a0}E\u{13ac}G\u{13c0}H\u{13bb}J\u{13ab}K\u{13e6}L\u{13de}M\u{13b7}\
    P\u{13e2}R\u{13a1}S\u{13da}T\u{13a2}V\u{13d9}W\u{13b3}Y\u{13a9}Z\u{13c3}c\u{abaf}v\u{aba9}s\u{abaa}\
    w\u{ab83}z\u{ab93}i\u{ab75}";
pub(super) const LISU: &str = "\
    A\u{a4ee}B\u{a4d0}C\u{a4da}D\u{a4d3}E\u{a4f0}F\u{a4dd}G\u{a4d6}H\u{a4e7}I\u{a4f2}J\u{a4d9}K\u{a4d7}\
    L\u{a4e1}M\u{a4df}N\u{a4e0}O\u{a4f3}P\u{a4d1}R\u{a4e3}S\u{a4e2}T\u{a4d4}U\u{a4f4}V\u{a4e6}W\u{a4ea}\
    X\u{a4eb}Y\u{a4ec}Z\u{a4dc}";
pub(super) const LATIN: &str = "\
    a\u{251}g\u{261}i\u{131}l\u{1c0}y\u{28f}u\u{1d1c}v\u{1d20}w\u{1d21}z\u{1d22}c\u{1d04}o\u{1d0f}\
    s\u{a731}";
pub(super) const MARKS: &str = "\
    -\u{2010}_\u{2cd}.\u{2024}/\u{2044}=\u{a4ff}+\u{1429}:\u{a789}";
pub(super) const SUPERSCRIPT: &str = "\
    a\u{1d43}b\u{1d47}c\u{1d9c}d\u{1d48}e\u{1d49}f\u{1da0}g\u{1d4d}h\u{2b0}i\u{2071}j\u{2b2}k\u{1d4f}\
    l\u{2e1}m\u{1d50}n\u{207f}o\u{1d52}p\u{1d56}q\u{107a5}r\u{2b3}s\u{2e2}t\u{1d57}u\u{1d58}v\u{1d5b}\
    w\u{2b7}x\u{2e3}y\u{2b8}z\u{1dbb}A\u{1d2c}B\u{1d2e}D\u{1d30}E\u{1d31}G\u{1d33}H\u{1d34}I\u{1d35}\
    J\u{1d36}K\u{1d37}L\u{1d38}M\u{1d39}N\u{1d3a}O\u{1d3c}P\u{1d3e}R\u{1d3f}T\u{1d40}U\u{1d41}V\u{2c7d}\
    W\u{1d42}0\u{2070}1\u{b9}2\u{b2}3\u{b3}4\u{2074}5\u{2075}6\u{2076}7\u{2077}8\u{2078}9\u{2079}\
    +\u{207a}=\u{207c}";
pub(super) const SUBSCRIPT: &str = "\
    a\u{2090}e\u{2091}h\u{2095}i\u{1d62}j\u{2c7c}k\u{2096}l\u{2097}m\u{2098}n\u{2099}o\u{2092}p\u{209a}\
    r\u{1d63}s\u{209b}t\u{209c}u\u{1d64}v\u{1d65}x\u{2093}0\u{2080}1\u{2081}2\u{2082}3\u{2083}4\u{2084}\
    5\u{2085}6\u{2086}7\u{2087}8\u{2088}9\u{2089}+\u{208a}=\u{208c}";
pub(super) const ROMAN: &str = "\
    i\u{2170}v\u{2174}x\u{2179}l\u{217c}c\u{217d}d\u{217e}m\u{217f}I\u{2160}V\u{2164}X\u{2169}L\u{216c}\
    C\u{216d}D\u{216e}M\u{216f}";
pub(super) const STRAYS: &str = "\
    s\u{17f}K\u{212a}e\u{212f}g\u{210a}h\u{210e}o\u{2134}i\u{2139}l\u{2113}B\u{212c}E\u{2130}F\u{2131}\
    H\u{210b}I\u{2110}L\u{2112}M\u{2133}R\u{211b}C\u{2102}N\u{2115}P\u{2119}Q\u{211a}Z\u{2124}R\u{211d}";
pub(super) const SMALL: &str = "\
    @\u{fe6b}-\u{fe63}.\u{fe52}#\u{fe5f}+\u{fe62}=\u{fe66}_\u{fe4d}:\u{fe55}$\u{fe69}%\u{fe6a}&\u{fe60}\
    *\u{fe61}";
pub(super) const ACUTE: &str = "\
    a\u{e1}c\u{107}e\u{e9}g\u{1f5}h\u{1e27}i\u{ed}k\u{1e31}l\u{13a}m\u{1e3f}n\u{144}o\u{f3}p\u{1e55}\
    r\u{155}s\u{15b}u\u{fa}w\u{1e83}y\u{fd}z\u{17a}A\u{c1}C\u{106}E\u{c9}G\u{1f4}H\u{1e26}I\u{cd}\
    K\u{1e30}L\u{139}M\u{1e3e}N\u{143}O\u{d3}P\u{1e54}R\u{154}S\u{15a}U\u{da}W\u{1e82}Y\u{dd}Z\u{179}";

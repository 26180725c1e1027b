//! Which language a text is in, as far as the gates have to know: one whose phrases they have, or not.

use std::sync::LazyLock;

use super::phrase::Phrases;

/// Small words that nearly every sentence of a language has, and that other languages do not use alone as often.
static SMALL_WORDS: LazyLock<Phrases> = LazyLock::new(|| {
    Phrases::new(&[
        "the,a,an,of,to,in,on,and,or,is,are,was,were,be,been,has,have,had,it,its,this,that,for,with,by,from,at,as,not,no,\
         never,always,when,if,because,after,before,will,must,should,can,does,do,did,we,i,you,he,she,they,our,your,my,uses,\
         use,every,each,all,without,than,until,since,only,per,via,which,who,there,into,over,under,between,about",
        "der,die,das,den,dem,des,ein,eine,einen,einem,einer,und,oder,ist,sind,war,wird,werden,wurde,nicht,kein,keine,mit,\
         von,zu,zum,zur,auf,für,bei,nach,vor,weil,wenn,dass,als,auch,nur,im,am,wir,ich,sie,er,es,hat,haben,kann,muss,soll",
        "le,la,les,un,une,des,du,de,et,ou,est,sont,était,pas,ne,avec,pour,par,dans,sur,sous,que,qui,parce,quand,chaque,\
         nous,vous,je,il,elle,au,aux,ce,cette,se,son,sa,ses,à,sans,mais",
        "el,los,las,una,unos,y,o,es,son,era,no,con,para,por,en,sobre,que,cuando,cada,porque,nosotros,su,sus,al,del,se,lo,\
         está,están,sin,pero,muy,hay",
        "il,lo,gli,uno,e,è,sono,non,con,per,da,di,che,quando,ogni,perché,alla,nel,nella,dei,della,si,viene",
        "o,os,as,um,uma,e,é,são,não,com,para,por,em,no,na,do,da,dos,das,que,quando,cada,porque,ao,se",
        "het,een,en,of,is,zijn,niet,geen,met,voor,van,op,bij,als,wanneer,elke,omdat,wordt,worden,naar,in,staat,staan",
    ])
});

/// Fewer words than this are a note, not a sentence: too few to tell a language from.
const WORDS_TO_TELL: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    /// English, German, French, Spanish, Italian, Portuguese, Dutch, or a note too short to tell.
    Listed,
    Unlisted,
}

/// `words` are the words of `text`.
pub(crate) fn language(text: &str, words: &[String]) -> Language {
    if is_another_script(text) {
        return Language::Unlisted;
    }
    let plain = words.iter().filter(|word| word.chars().all(|c| c.is_alphabetic() || c == '\''));
    let (known, all) =
        plain.fold((0, 0), |(known, all), word| (known + usize::from(is_small(word)), all + 1));
    // About every third word of running text is a small one; one in fifteen leaves room for terse notes.
    if all >= WORDS_TO_TELL && known * 15 < all { Language::Unlisted } else { Language::Listed }
}

/// An article, a preposition, an auxiliary: a word that holds a sentence of a listed language together.
pub(crate) fn is_small(word: &str) -> bool {
    SMALL_WORDS.contain(word) || word.split('\'').any(|part| SMALL_WORDS.contain(part))
}

fn is_another_script(text: &str) -> bool {
    let (latin, other) = text.chars().filter(|c| c.is_alphabetic()).fold((0usize, 0usize), |(l, o), c| {
        if matches!(c, 'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{ff21}'..='\u{ff5a}') {
            (l + 1, o)
        } else {
            (l, o + 1)
        }
    });
    other > latin
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words;

    #[test]
    fn texts_in_listed_languages_are_told_from_others() {
        for (text, expected) in [
            ("The gateway listens on port 9096.", Language::Listed),
            ("Der Dienst läuft auf web-1 und nutzt Port 8080.", Language::Listed),
            ("Les sauvegardes sont stockées sur db-3.", Language::Listed),
            ("El servicio se ejecuta en mars.", Language::Listed),
            ("De back-ups van kiln staan in Utrecht.", Language::Listed),
            ("Prod DB: PostgreSQL 16, db-3.lan", Language::Listed),
            ("Palvelin käyttää porttia kahdeksan ja varmuuskopiot ajetaan öisin", Language::Unlisted),
            ("Сервер слушает порт 8080", Language::Unlisted),
            ("数据库在端口五四三二上运行", Language::Unlisted),
            ("Sunucu her gece yedek alıyor, kayıtlar burada tutuluyor", Language::Unlisted),
        ] {
            assert_eq!(language(text, &words(text)), expected, "{text}");
        }
    }
}

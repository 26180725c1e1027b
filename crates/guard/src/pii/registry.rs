//! The national ids that are known: how they are written, which words announce them, and what their check digits are.
//!
//! In a form `9` is a digit, `A` a letter, `*` either, anything else itself. A form under `alone` is enough by itself
//! once its check holds; one under `told` may have separators anywhere and needs one of the words before it.

mod rules;

use super::checks::{luhn, mod_11_10};
use super::context::Words;

pub(super) struct Entry {
    pub(super) id: &'static str,
    pub(super) alone: &'static [&'static str],
    pub(super) told: &'static [&'static str],
    pub(super) words: Words,
    pub(super) check: Check,
}

/// How a number is checked: as digits 0 to 9, or as capitals and digits.
#[derive(Clone, Copy)]
pub(super) enum Check {
    Digits(fn(&[u8]) -> bool),
    Text(fn(&[u8]) -> bool),
}

const fn entry(
    id: &'static str,
    alone: &'static [&'static str],
    told: &'static [&'static str],
    words: &'static [&'static str],
    check: Check,
) -> Entry {
    Entry { id, alone, told, words: Words::new(words), check }
}

/// No id known here has more letters and digits.
pub(super) const LENGTH_MAX: usize = 18;

/// The entries that have a form of each length, for texts that begin with a digit and for those that do not: a bit an entry.
static FORMS: [[u64; LENGTH_MAX + 1]; 2] = {
    let mut forms = [[0; LENGTH_MAX + 1]; 2];
    let mut entry = 0;
    while entry < ENTRIES.len() {
        let (alone, told) = (ENTRIES[entry].alone, ENTRIES[entry].told);
        let mut at = 0;
        while at < alone.len() + told.len() {
            let form = if at < alone.len() { alone[at] } else { told[at - alone.len()] };
            let first = form.as_bytes()[0];
            if first != b'A' {
                forms[0][length(form)] |= 1 << entry;
            }
            if first != b'9' {
                forms[1][length(form)] |= 1 << entry;
            }
            at += 1;
        }
        entry += 1;
    }
    forms
};

/// The entries that have a form of one of these lengths, in order; what begins otherwise than the text need not be tried.
pub(super) fn entries(lengths: u32, digit_first: bool) -> impl Iterator<Item = &'static Entry> {
    let forms = &FORMS[usize::from(!digit_first)];
    let mut fitting = (0..=LENGTH_MAX)
        .filter(|length| lengths >> length & 1 == 1)
        .fold(0, |fitting, length| fitting | forms[length]);
    std::iter::from_fn(move || {
        let next = fitting.trailing_zeros() as usize;
        fitting &= fitting.wrapping_sub(1);
        ENTRIES.get(next)
    })
}

/// How many letters and digits a form has.
const fn length(form: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while at < form.len() {
        if matches!(form.as_bytes()[at], b'9' | b'A' | b'*') {
            count += 1;
        }
        at += 1;
    }
    count
}

use Check::{Digits, Text};

/// Longer before shorter where one could be the beginning of another.
#[rustfmt::skip]
pub(super) static ENTRIES: &[Entry] = &[
    entry("mx_curp", &["AAAA999999AAAAAA*9"], &[], &[], Text(rules::curp)),
    entry("cn_resident_id", &["99999999999999999*"], &[], &[], Text(rules::resident)),
    entry("it_codice_fiscale", &["AAAAAA99A99A999A", "AAA AAA 99A99 A999A"], &[], &[], Text(rules::codice_fiscale)),
    entry("fr_nir", &["999999999999999", "9 99 99 99 999 999 99", "99999A999999999", "9 99 99 9A 999 999 99", "9999999999999 99"], &[], &[], Text(rules::nir)),
    entry("br_cnpj", &["99.999.999/9999-99"], &["99999999999999"], &["cnpj"], Digits(rules::cnpj)),
    entry("ch_ahv", &["999.9999.9999.99", "9999999999999"], &["9999999999999"], &["ahv*", "avs", "oasi", "sozialversicherung*"], Digits(rules::ahv)),
    entry("kr_rrn", &["999999-9999999"], &["9999999999999"], &["rrn", "resident registration", "주민등록번호", "주민번호"], Digits(rules::rrn)),
    entry("ro_cnp", &[], &["9999999999999"], &["cnp", "cod numeric*"], Digits(rules::cnp)),
    entry("za_id", &[], &["9999999999999"], &["id number", "identity*", "id no", "id", "south african id", "sa id"], Digits(rules::south_africa)),
    entry("in_aadhaar", &[], &["999999999999"], &["aadhaar", "aadhar", "adhaar", "uidai", "आधार"], Digits(rules::aadhaar)),
    entry("br_cpf", &["999.999.999-99"], &["99999999999"], &["cpf"], Digits(rules::cpf)),
    entry("ar_cuit", &["99-99999999-9"], &["99999999999"], &["cuit", "cuil"], Digits(rules::cuit)),
    entry("be_national_number", &["99.99.99-999.99"], &["99999999999"], &["rijksregister*", "national number", "numéro national", "registre national", "insz", "niss", "nrn", "rrn"], Digits(rules::belgium)),
    entry("de_steuer_id", &[], &["99999999999"], &["steuer*", "idnr", "identifikationsnummer", "tax id*", "tin", "taxpayer*"], Digits(rules::steuer_id)),
    entry("pl_pesel", &[], &["99999999999"], &["pesel"], Digits(rules::pesel)),
    entry("no_fodselsnummer", &[], &["99999999999"], &["fødselsnummer", "fodselsnummer", "fødselsnr", "personnummer", "fnr"], Digits(rules::norway)),
    entry("gr_amka", &[], &["99999999999"], &["amka", "ΑΜΚΑ"], Digits(rules::amka)),
    entry("hr_oib", &[], &["99999999999"], &["oib"], Digits(mod_11_10)),
    entry("tr_kimlik", &[], &["99999999999"], &["kimlik*", "tckn", "tc no", "t.c"], Digits(rules::kimlik)),
    entry("au_medicare", &[], &["99999999999", "9999999999"], &["medicare"], Digits(rules::medicare)),
    entry("fi_hetu", &["999999-999A", "999999A999*"], &["999999999*"], &["hetu", "henkilötunnus", "henkilotunnus", "personbeteckning"], Text(rules::hetu)),
    entry("uk_nhs", &[], &["9999999999"], &["nhs"], Digits(rules::nhs)),
    entry("se_personnummer", &[], &["999999999999", "9999999999"], &["personnummer", "personnr", "samordningsnummer", "person number"], Digits(rules::sweden)),
    entry("dk_cpr", &[], &["9999999999"], &["cpr*", "personnummer"], Digits(rules::cpr)),
    entry("at_svnr", &[], &["9999999999"], &["svnr", "sozialversicherung*", "sv-nummer", "versicherungsnummer", "vsnr"], Digits(rules::austria)),
    entry("cz_rodne_cislo", &[], &["9999999999"], &["rodné číslo", "rodne cislo", "rodné", "rodne", "rč", "birth number"], Digits(rules::birth_number)),
    entry("bg_egn", &[], &["9999999999"], &["egn", "ЕГН", "егн"], Digits(rules::egn)),
    entry("tw_id", &[], &["A999999999"], &["taiwan*", "national id*", "id card", "身分證", "身份證"], Text(rules::taiwan)),
    entry("in_pan", &[], &["AAAAA9999A"], &["pan", "permanent account*", "income tax*"], Text(rules::pan)),
    entry("uk_nino", &["AA999999A", "AA 99 99 99 A", "AA-99-99-99-A", "AA 999999 A"], &["AA999999A"], &["national insurance*", "nino", "ni number", "ni no"], Text(rules::nino)),
    entry("sg_nric", &["A9999999A"], &[], &[], Text(rules::nric)),
    entry("es_nie", &["A9999999A", "A-9999999-A"], &["A9999999A"], &["nie"], Text(rules::nie)),
    entry("es_dni", &["99999999A", "99999999-A"], &["99999999A"], &["dni", "nif", "documento nacional*"], Text(rules::dni)),
    entry("cl_rut", &["99.999.999-*", "9.999.999-*"], &["99999999*", "9999999*"], &["rut", "run"], Text(rules::rut)),
    entry("ie_pps", &[], &["9999999AA", "9999999A"], &["pps*", "personal public service"], Text(rules::pps)),
    entry("nl_bsn", &[], &["999999999"], &["bsn", "burgerservicenummer", "sofinummer", "sofi*"], Digits(rules::bsn)),
    entry("pt_nif", &[], &["999999999"], &["nif", "contribuinte", "nipc"], Digits(rules::portugal)),
    entry("hu_taj", &[], &["999999999"], &["taj*", "társadalombiztosítási"], Digits(rules::taj)),
    entry("ca_sin", &[], &["999999999"], &["sin", "social insurance*", "nas", "assurance sociale"], Digits(rules::canada)),
    entry("au_tfn", &[], &["999999999"], &["tfn", "tax file*"], Digits(rules::tfn)),
    entry("il_id", &[], &["999999999"], &["teudat*", "zehut", "israeli id", "israeli*", "תעודת זהות", "ת.ז"], Digits(luhn)),
    entry("nz_ird", &[], &["999999999", "99999999"], &["ird", "inland revenue"], Digits(rules::ird)),
    entry("hk_id", &["A999999(*)", "AA999999(*)"], &["A999999*"], &["hkid", "hong kong id*"], Text(rules::hong_kong)),
];

//! Every national id by example: valid, with a wrong check, and without its words.

use super::super::pass::{check, found};
use super::super::registry::ENTRIES;

/// Id, words before, a valid number, the same with a wrong check, and whether the number is believed without the words.
/// The numbers are those published as examples by the states themselves or by libraries that check them.
const EXAMPLES: &[(&str, &str, &str, &str, bool)] = &[
    ("mx_curp", "", "BOXW310820HNERXN09", "BOXW310820HNERXN08", true),
    ("cn_resident_id", "", "11010519491231002X", "110105194912310021", true),
    ("it_codice_fiscale", "", "RCCMNL83S18D969H", "RCCMNL83S18D969A", true),
    ("it_codice_fiscale", "", "RSSMRA85T10A562S", "RSSMRA85T10A562T", true),
    ("fr_nir", "", "2 95 10 99 126 111 93", "2 95 10 99 126 111 94", true),
    ("fr_nir", "", "295109912611193", "295109912611194", true),
    ("br_cnpj", "CNPJ", "16727230000197", "16727230000198", false),
    ("br_cnpj", "", "16.727.230/0001-97", "16.727.230/0001-98", true),
    ("ch_ahv", "AHV", "756.9217.0769.85", "756.9217.0769.84", true),
    ("kr_rrn", "", "971013-9019902", "971013-9019903", true),
    ("ro_cnp", "CNP", "1630615123457", "1630615123458", false),
    ("za_id", "ID number", "7503305044089", "7503305044088", false),
    ("in_aadhaar", "Aadhaar", "2341 2341 2346", "2341 2341 2347", false),
    ("br_cpf", "CPF", "39053344705", "39053344706", false),
    ("br_cpf", "", "390.533.447-05", "390.533.447-06", true),
    ("ar_cuit", "", "20-05536168-2", "20-05536168-3", true),
    ("be_national_number", "rijksregisternummer", "85073003328", "85073003329", false),
    ("be_national_number", "", "85.07.30-033.28", "85.07.30-033.29", true),
    ("de_steuer_id", "Steuer-ID", "36574261809", "36574261890", false),
    ("pl_pesel", "PESEL", "44051401359", "44051401358", false),
    ("no_fodselsnummer", "fødselsnummer", "151086 95088", "151086 95077", false),
    ("gr_amka", "AMKA", "01013099997", "01013099998", false),
    ("hr_oib", "OIB", "33392005961", "33392005962", false),
    ("tr_kimlik", "kimlik no", "17291716060", "17291716050", false),
    ("au_medicare", "Medicare", "2123 45670 1", "2123 45671 1", false),
    ("fi_hetu", "", "131052-308T", "131052-308U", true),
    ("fi_hetu", "", "131052A308T", "131052A308U", true),
    ("uk_nhs", "NHS number", "943 476 5919", "943 476 5918", false),
    ("se_personnummer", "personnummer", "880320-0016", "880320-0018", false),
    ("se_personnummer", "personnummer", "19811228-9874", "19811228-9873", false),
    ("dk_cpr", "CPR", "211062-5629", "211362-5629", false),
    ("at_svnr", "SVNR", "1237 010180", "1238 010180", false),
    ("cz_rodne_cislo", "rodné číslo", "710319/2745", "710319/2746", false),
    ("bg_egn", "EGN", "7523169263", "7523169264", false),
    ("tw_id", "Taiwan ID", "A123456789", "A123456788", false),
    ("in_pan", "PAN", "ACUPA7085R", "ACUEA7085R", false),
    ("uk_nino", "", "AB123456C", "QQ123456C", true),
    ("uk_nino", "", "AB 12 34 56 C", "QQ 12 34 56 C", true),
    ("sg_nric", "", "S1234567D", "S1234567E", true),
    ("es_nie", "", "X1234567L", "X1234567M", true),
    ("es_dni", "", "12345678Z", "12345678A", true),
    ("cl_rut", "", "12.531.909-2", "12.531.909-3", true),
    ("cl_rut", "RUT", "76086428-5", "76086428-6", false),
    ("ie_pps", "PPS", "6433435F", "6433435E", false),
    ("ie_pps", "PPSN", "6433435OA", "6433435VH", false),
    ("nl_bsn", "BSN", "111222333", "111222334", false),
    ("pt_nif", "NIF", "501964843", "501964842", false),
    ("hu_taj", "TAJ", "111 111 110", "111 111 111", false),
    ("ca_sin", "SIN", "046 454 286", "046 454 287", false),
    ("au_tfn", "TFN", "123456782", "123456783", false),
    ("il_id", "teudat zehut", "039337423", "039337424", false),
    ("nz_ird", "IRD", "49091850", "49091851", false),
    ("hk_id", "", "A123456(3)", "A123456(4)", true),
];

fn ids(text: &str) -> Vec<&'static str> {
    found(text).into_iter().map(|(id, ..)| id).collect()
}

#[test]
fn each_id_is_taken_valid_kept_invalid_and_kept_without_its_words() {
    for (id, words, valid, invalid, alone) in EXAMPLES {
        check(&format!("{words} {valid}."), &[(id, valid)]);
        assert!(!ids(&format!("{words} {invalid}.")).contains(id), "{id}: {invalid}");
        assert_eq!(ids(&format!("item {valid}.")).contains(id), *alone, "{id}: {valid} without words");
    }
}

#[test]
fn every_entry_has_an_example() {
    for entry in ENTRIES {
        assert!(EXAMPLES.iter().any(|(id, ..)| *id == entry.id), "{}", entry.id);
    }
}

#[test]
fn passports_and_licences_are_taken_right_after_their_name() {
    check("passport number C01X00T47", &[("passport", "C01X00T47")]);
    check("Driver's license: 2270-66-1551", &[("drivers_licence", "2270-66-1551")]);
    check("my driving licence is MORGA753116SM9IJ", &[("drivers_licence", "MORGA753116SM9IJ")]);
    check("item C01X00T47", &[]);
    check("the passport office is a long way off, at gate C01X00T47", &[]);
}

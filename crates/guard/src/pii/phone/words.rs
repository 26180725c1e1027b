//! What the words beside a number say: a phone, something else, or nothing.

use super::super::context::{Words, after, before, first, follows, nearest};

/// Words that speak of phones and nothing else.
#[rustfmt::skip]
static PHONE: Words = Words::new(&[
    "phone*", "telephone*", "cellphone*", "smartphone*", "tel", "tels", "mobile*", "mob", "cell", "cells",
    "cellular", "fax", "faxes", "faxed", "call", "calls", "calling", "called", "callback", "dial*", "sms",
    "whatsapp", "voicemail", "hotline", "landline", "msisdn", "texted", "telefon*", "tlf", "tfn", "handy*",
    "mobil*", "rufnummer*", "anruf*", "ruf*", "fernruf", "durchwahl", "tél*", "appel*", "teléfono*", "móvil*",
    "movil", "celular*", "llam*", "telefone*", "telemóvel*", "ligar", "ligue", "cellulare", "chiam*",
    "telefoon*", "gsm", "bellen", "bel", "puhelin*", "puh", "soita*", "sími*", "τηλ*",
    "тел*", "звон*", "моб*", "电话", "電話", "手机", "携帯", "전화", "휴대폰",
]);

/// Words that stand beside phone numbers and beside much else; the nearer of them and of the others decides.
#[rustfmt::skip]
static MAYBE: Words = Words::new(&[
    "contact*", "reach", "reached", "reachable", "text", "texts", "texting", "message", "messages",
    "registered", "answer*", "helpline", "pager", "kontakt*", "contacto", "ring",
]);

/// Words that say a number follows, but not of what.
static NUMBER: Words = Words::new(&["number*", "numero", "número", "numéro", "nummer"]);

/// Words that announce a phone number only right before it, or name it right after it.
#[rustfmt::skip]
static LABEL: Words = Words::new(&[
    "office", "home", "work", "desk", "direct", "emergency", "support", "büro", "bureau", "oficina", "main",
    "switchboard", "reception", "signal", "telegram", "ph", "portable", "fixe", "fijo",
]);

/// Words that say a number is something else.
#[rustfmt::skip]
static OTHER: Words = Words::new(&[
    "u8", "u16", "u32", "u64", "i32", "i64", "usize", "int", "const", "enum", "ioctl", "static", "define",
    "order*", "invoice*", "isbn*", "issn", "ean", "upc", "gtin", "sku", "asin", "id", "ids", "uuid", "guid",
    "version*", "ver", "build", "port", "ports", "pid", "zip*", "postcode", "postal", "plz", "track*",
    "parcel", "shipment*", "ref", "reference", "case", "ticket*", "issue*", "commit", "byte*", "size*",
    "amount", "total", "price*", "cost*", "usd", "eur", "gbp", "account*", "acct", "balance", "serial*",
    "part", "model", "lot", "batch", "page*", "row", "rows", "doi", "pmid", "population", "budget", "revenue",
    "timestamp*", "epoch", "iban", "bic", "ssn", "passport*", "licence*", "license*", "vat", "tax*", "policy",
    "claim", "patent", "chapter", "section", "article", "customer", "member*", "confirmation", "booking",
    "reservation", "flight", "transaction*", "receipt", "hash", "checksum", "sha*", "md5", "key", "seed",
    "offset", "address*", "range", "between", "bestell*", "rechnung*", "kunden*", "commande", "facture",
    "pedido", "factura", "sort", "routing", "swift", "meter", "vin", "imei", "mac", "ip", "latitude",
    "longitude", "score*", "pesel", "nif", "bsn", "sin", "nhs", "dob",
]);

/// Words between a number and what it is.
static IS: Words = Words::new(&["is", "est", "ist"]);

/// What follows a count, a sum or a measure.
#[rustfmt::skip]
static UNITS: Words = Words::new(&[
    "bytes", "byte", "kb", "mb", "gb", "kib", "mib", "gib", "usd", "eur", "gbp", "chf", "sek", "nok", "dkk",
    "pln", "czk", "huf", "euro", "euros", "dollars", "pounds", "people", "users", "inhabitants", "rows",
    "lines", "records", "items", "points", "tokens", "km", "km2", "meters", "metres", "miles", "ms", "ns",
    "us", "seconds", "hz", "million", "billion", "hours", "units", "copies", "kr", "zł", "ft",
]);

/// A word that says otherwise counts this far.
const AGAINST_REACH: usize = 24;
/// A label stands this close: a colon and a space.
const LABEL_REACH: usize = 3;

/// What the words on both sides of a number say. The lists are only gone through as far as a question needs.
pub(super) struct Told<'a> {
    ahead: &'a [u8],
    /// A label or a word right after it settles the matter.
    settled: bool,
}

impl Told<'_> {
    pub(super) fn plainly_for_it(&self) -> bool {
        self.settled || self.nearer(&PHONE)
    }

    pub(super) fn for_it(&self) -> bool {
        self.plainly_for_it()
            || self.nearer(&MAYBE)
            || (nearest(self.ahead, &NUMBER).is_some() && nearest(self.ahead, &OTHER).is_none())
    }

    pub(super) fn against(&self) -> bool {
        nearest(self.ahead, &OTHER).is_some_and(|other| other <= AGAINST_REACH) && !self.for_it()
    }

    /// One of the words stands there, and no word for something else stands nearer.
    fn nearer(&self, words: &Words) -> bool {
        nearest(self.ahead, words)
            .is_some_and(|word| nearest(self.ahead, &OTHER).is_none_or(|other| word < other))
    }
}

pub(super) fn around(text: &[u8], start: usize, end: usize) -> Told<'_> {
    let (ahead, behind) = (before(text, start), after(text, end));
    let label = labelled(ahead) && nearest(ahead, &LABEL).is_some_and(|far| far <= LABEL_REACH);
    Told { ahead, settled: label || named_after(behind) }
}

/// `…: ` right before the number.
fn labelled(ahead: &[u8]) -> bool {
    matches!(ahead.trim_ascii_end(), [.., b':' | b'='])
}

/// `… office`, `… (mobile)`, `… is my number`.
fn named_after(behind: &[u8]) -> bool {
    if follows(behind, &PHONE) || follows(behind, &LABEL) {
        return true;
    }
    follows(behind, &IS) && [&PHONE, &NUMBER].into_iter().any(|words| first(behind, words).is_some())
}

/// A sum or a measure: a currency before it, a unit after it, a percentage, a multiplication.
pub(super) fn counted(text: &[u8], start: usize, end: usize) -> bool {
    let currency =
        matches!(text[..start], [.., b'$'] | [.., b'$', b' '] | [.., 0xC2, 0xA3] | [.., 0xE2, 0x82, 0xAC]);
    let behind = after(text, end);
    let sign = matches!(
        behind,
        [b'$' | b'%', ..]
            | [b' ', b'$' | b'%' | b'*' | b'=', ..]
            | [0xE2, 0x82, 0xAC, ..]
            | [b' ', 0xE2, 0x82, 0xAC, ..]
    );
    currency || sign || follows(behind, &UNITS)
}

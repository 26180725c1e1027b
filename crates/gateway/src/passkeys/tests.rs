//! The vectors of the WebAuthn specification: what of them is accepted whole, and that nothing is with a bit flipped.
//!
//! They lie beside the checkout and not in it. Most are made without user verification, which we always ask for; so
//! each is judged twice, as the library verifies it and as we accept it. What it does not verify at all: ES512, EdDSA,
//! the RSA key of an uncommon size, and two attestations with certificates, which we never ask for. The library draws its own challenges: the
//! vector's is put into its serialised state, here and nowhere else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64URL;
use holdfast_testkit::{rounds, shared_data_or_say};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::*;

/// Something to begin, for the tests of what is under way.
pub(crate) fn sign_in_state() -> DiscoverableAuthentication {
    site("https://hold.example").start_sign_in().unwrap().1
}

pub(crate) fn registration_state() -> PasskeyRegistration {
    let (person, name) = (PersonId::random().unwrap(), "Ana".parse().unwrap());
    site("https://hold.example").start_registration(person, &name, Vec::new()).unwrap().1
}

fn site(origin: &str) -> Passkeys {
    Passkeys::new(&Settings::new(origin.parse().unwrap())).unwrap()
}

#[derive(Deserialize)]
struct File {
    origin: String,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    id: String,
    registration: Option<Registration>,
    authentication: Option<Authentication>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Registration {
    challenge: String,
    #[serde(rename = "credential_id")]
    credential_id: String,
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    attestation_object: String,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Authentication {
    challenge: String,
    authenticator_data: String,
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    signature: String,
}

/// Whether the user has to be verified.
#[derive(Clone, Copy, PartialEq)]
enum Verification {
    Asked,
    Waived,
}

struct Bench {
    passkeys: Passkeys,
    person: PersonId,
}

impl Bench {
    fn register(&self, vector: &Registration, verification: Verification) -> Result<Passkey> {
        let (_, state) =
            self.passkeys.start_registration(self.person, &"Ana".parse().unwrap(), vec![]).unwrap();
        let state = prepared(&state, "rs", &vector.challenge, verification);
        let answer = json!({
            "id": text(&vector.credential_id),
            "rawId": text(&vector.credential_id),
            "type": "public-key",
            "response": {
                "attestationObject": text(&vector.attestation_object),
                "clientDataJSON": text(&vector.client_data),
            },
        });
        self.passkeys.finish_registration(&serde_json::from_value(answer).unwrap(), &state)
    }

    fn authenticate(
        &self,
        passkey: &Passkey,
        vector: &Authentication,
        verification: Verification,
    ) -> Result<AuthenticationResult> {
        let (_, state) = self.passkeys.start_sign_in().unwrap();
        let state = prepared(&state, "ast", &vector.challenge, verification);
        let answer = json!({
            "id": BASE64URL.encode(passkey.cred_id()),
            "rawId": BASE64URL.encode(passkey.cred_id()),
            "type": "public-key",
            "response": {
                "authenticatorData": text(&vector.authenticator_data),
                "clientDataJSON": text(&vector.client_data),
                "signature": text(&vector.signature),
                "userHandle": BASE64URL.encode(self.person.handle()),
            },
        });
        let answer = serde_json::from_value(answer).unwrap();
        match verification {
            Verification::Asked => self.passkeys.finish_sign_in(&answer, state, passkey, self.person),
            Verification::Waived => {
                let result =
                    self.passkeys.webauthn.finish_discoverable_authentication_v2(&answer, state, passkey);
                result.map_err(refusal)
            }
        }
    }
}

fn prepared<T: serde::Serialize + DeserializeOwned>(
    state: &T,
    inner: &str,
    challenge: &str,
    verification: Verification,
) -> T {
    let mut json = serde_json::to_value(state).unwrap();
    json[inner]["challenge"] = Value::String(text(challenge));
    if verification == Verification::Waived {
        json[inner]["policy"] = json!("discouraged");
    }
    serde_json::from_value(json).unwrap()
}

/// Hex of the file as base64url of the wire.
fn text(hex: &str) -> String {
    BASE64URL.encode(bytes(hex))
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Its name, and both halves.
type Case = (String, Registration, Authentication);

fn vectors() -> Option<(Bench, Vec<Case>)> {
    let path = shared_data_or_say("the WebAuthn vectors")?.join("vectors/webauthn.json");
    let file: File = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let bench = Bench { passkeys: site(&file.origin), person: PersonId::random().unwrap() };
    let whole = file.vectors.into_iter().filter_map(|v| Some((v.id, v.registration?, v.authentication?)));
    Some((bench, whole.collect()))
}

#[test]
fn the_vectors_are_judged_as_they_should_be() {
    let Some((bench, vectors)) = vectors() else { return };
    let word = |ok: bool| if ok { "yes" } else { "no" };
    let lines = vectors.iter().map(|(id, registration, authentication)| {
        let verified = bench.register(registration, Verification::Waived);
        let signed =
            |v| verified.as_ref().is_ok_and(|key| bench.authenticate(key, authentication, v).is_ok());
        let accepted = bench.register(registration, Verification::Asked).is_ok();
        format!(
            "{id:<30} {:>8} {:>8} {:>8} {:>8}",
            word(verified.is_ok()),
            word(signed(Verification::Waived)),
            word(accepted),
            word(signed(Verification::Asked)),
        )
    });
    let head = format!("{:<30} {:>8} {:>8} {:>8} {:>8}", "", "register", "sign in", "by us", "by us");
    let table: Vec<String> = std::iter::once(head).chain(lines).collect();
    insta::assert_snapshot!(table.join("\n"));
}

/// How many of the vectors are verified: the table says which.
const SIGN_INS: usize = 7;

/// Every byte has a bit flipped; in a soak every bit of it.
fn flips(original: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let whole = bytes(original);
    let bits = rounds(1, 8) as usize;
    (0..whole.len()).flat_map(move |at| {
        let whole = whole.clone();
        (0..bits).map(move |n| {
            let mut flipped = whole.clone();
            flipped[at] ^= 1 << ((at + n) % 8);
            (at, hex(&flipped))
        })
    })
}

#[test]
fn a_sign_in_with_one_bit_flipped_is_refused() {
    let Some((bench, vectors)) = vectors() else { return };
    let mut judged = 0;
    for (id, registration, authentication) in &vectors {
        let Ok(passkey) = bench.register(registration, Verification::Waived) else { continue };
        let refused =
            |vector: &Authentication| bench.authenticate(&passkey, vector, Verification::Waived).is_err();
        if refused(authentication) {
            continue;
        }
        judged += 1;
        for (at, flipped) in flips(&authentication.authenticator_data) {
            let altered = Authentication { authenticator_data: flipped, ..authentication.clone() };
            assert!(refused(&altered), "{id}: byte {at} of the authenticator's data");
        }
        for (at, flipped) in flips(&authentication.client_data) {
            let altered = Authentication { client_data: flipped, ..authentication.clone() };
            assert!(refused(&altered), "{id}: byte {at} of the client's data");
        }
        for (at, flipped) in flips(&authentication.signature) {
            let altered = Authentication { signature: flipped, ..authentication.clone() };
            assert!(refused(&altered), "{id}: byte {at} of the signature");
        }
    }
    assert_eq!(judged, SIGN_INS);
}

#[test]
fn a_sign_in_against_a_public_key_with_one_bit_flipped_is_refused() {
    let Some((bench, vectors)) = vectors() else { return };
    let mut judged = 0;
    for (id, registration, authentication) in &vectors {
        let Ok(passkey) = bench.register(registration, Verification::Waived) else { continue };
        if bench.authenticate(&passkey, authentication, Verification::Waived).is_err() {
            continue;
        }
        judged += 1;
        for altered in with_flipped_keys(&passkey) {
            let result = bench.authenticate(&altered, authentication, Verification::Waived);
            assert!(result.is_err(), "{id}");
        }
    }
    assert_eq!(judged, SIGN_INS);
}

/// The passkey with a bit of each number of its public key flipped, at several places.
fn with_flipped_keys(passkey: &Passkey) -> Vec<Passkey> {
    let json = serde_json::to_value(passkey).unwrap();
    let key = json["cred"]["cred"]["key"].clone();
    let mut altered = Vec::new();
    for kind in ["EC_EC2", "RSA"] {
        for number in ["x", "y", "n"] {
            let Some(value) = key[kind][number].as_str() else { continue };
            let whole = BASE64URL.decode(value).unwrap();
            for at in (0..whole.len()).step_by(5) {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << (at % 8);
                let mut json = json.clone();
                json["cred"]["cred"]["key"][kind][number] = Value::String(BASE64URL.encode(flipped));
                altered.extend(serde_json::from_value::<Passkey>(json));
            }
        }
    }
    assert!(!altered.is_empty(), "{key}");
    altered
}

/// Those with a statement that signs all of the authenticator's data and the client's. The others leave some of it
/// unsigned, and what is not signed cannot be missed; a wrong public key shows at the first sign-in.
const SIGNED_WHOLE: [&str; 3] = ["packed-self-es256", "packed-es256", "packed-es384"];

#[test]
fn a_signed_registration_with_one_bit_flipped_is_refused() {
    let Some((bench, vectors)) = vectors() else { return };
    let mut judged = 0;
    for (id, registration, _) in vectors.iter().filter(|(id, ..)| SIGNED_WHOLE.contains(&id.as_str())) {
        let refused = |vector: &Registration| bench.register(vector, Verification::Waived).is_err();
        if refused(registration) {
            continue;
        }
        judged += 1;
        for (at, flipped) in flips(&registration.client_data) {
            let altered = Registration { client_data: flipped, ..registration.clone() };
            assert!(refused(&altered), "{id}: byte {at} of the client's data");
        }
        let object = bytes(&registration.attestation_object);
        for part in ["authData", "sig"] {
            let range = byte_string(&object, part);
            for (at, flipped) in flips(&hex(&object[range.clone()])) {
                let mut object = object.clone();
                object[range.clone()].copy_from_slice(&bytes(&flipped));
                let altered = Registration { attestation_object: hex(&object), ..registration.clone() };
                assert!(refused(&altered), "{id}: byte {at} of {part}");
            }
        }
    }
    assert_eq!(judged, SIGNED_WHOLE.len());
}

/// Where the byte string under `key` lies in a CBOR map with short keys.
fn byte_string(object: &[u8], key: &str) -> std::ops::Range<usize> {
    let mut needle = vec![0x60 + key.len() as u8];
    needle.extend(key.bytes());
    let at = object.windows(needle.len()).position(|window| window == needle).unwrap() + needle.len();
    let (len, begin) = match object[at] {
        0x58 => (usize::from(object[at + 1]), at + 2),
        0x59 => (usize::from(u16::from_be_bytes([object[at + 1], object[at + 2]])), at + 3),
        other => panic!("{other:#x} is no byte string of this length"),
    };
    begin..begin + len
}

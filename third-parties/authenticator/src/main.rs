//! Devices with passkeys, in software: what a phone or a security key would be to a browser.
//!
//! A line of JSON comes in, one goes out: `{"do":"new"}` and `{"do":"copy","key":1}` make a device and give its number; `create` and `get` with `key`, `origin` and
//! `options` do what a browser's `navigator.credentials` does with it. `crates/testkit/src/authenticator.rs` is the other side.

use std::collections::HashMap;
use std::future::Future;
use std::io::{BufRead as _, Write as _};
use std::pin::Pin;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use passkey::authenticator::{Authenticator, UiHint, UserCheck, UserValidationMethod};
use passkey::client::{Client, DefaultClientData};
use passkey::crypto::rust_crypto::RustCryptoBackend;
use passkey::types::Passkey;
use passkey::types::ctap2::{Aaguid, Ctap2Error};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
enum Asked {
    /// A device; one that counts its uses, as security keys do, when so asked.
    New { counting: bool },
    /// Another with the same secrets, as no device should have.
    Copy { key: u64 },
    Create { key: u64, origin: Url, options: Value },
    Get { key: u64, origin: Url, options: Value },
}

/// One device with at most one passkey.
#[derive(Clone)]
struct Device {
    kept: Option<Passkey>,
    counting: bool,
}

type Answer = Result<Value, String>;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (mut devices, mut last) = (HashMap::new(), 0);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let answer = serde_json::from_str(&line).map_err(|e| e.to_string());
        let answer = answer.and_then(|asked| runtime.block_on(answered(asked, &mut devices, &mut last)));
        let told = match answer {
            Ok(value) => json!({ "ok": value }),
            Err(why) => json!({ "failed": why }),
        };
        if writeln!(out, "{told}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

async fn answered(asked: Asked, devices: &mut HashMap<u64, Device>, last: &mut u64) -> Answer {
    let mut put = |device: Device| {
        *last += 1;
        devices.insert(*last, device);
        json!(*last)
    };
    match asked {
        Asked::New { counting } => Ok(put(Device { kept: None, counting })),
        Asked::Copy { key } => {
            let copy = devices.get(&key).cloned().ok_or("there is no such device")?;
            *last += 1;
            devices.insert(*last, copy);
            Ok(json!(*last))
        }
        Asked::Create { key, origin, options } => known(devices, key)?.create(&origin, &options).await,
        Asked::Get { key, origin, options } => known(devices, key)?.get(&origin, &options).await,
    }
}

fn known(devices: &mut HashMap<u64, Device>, key: u64) -> Result<&mut Device, String> {
    devices.get_mut(&key).ok_or_else(|| "there is no such device".to_owned())
}

impl Device {
    async fn create(&mut self, origin: &Url, options: &Value) -> Answer {
        let mut authenticator = self.authenticator();
        authenticator.set_make_credentials_with_signature_counter(self.counting);
        let mut client = Client::new(authenticator).allows_insecure_localhost(true);
        let made = client.register(origin, wrapped(options)?, DefaultClientData).await;
        let made = made.map_err(|e| format!("{e:?}"))?;
        self.kept.clone_from(client.authenticator().store());
        plain(&made)
    }

    async fn get(&mut self, origin: &Url, options: &Value) -> Answer {
        let mut client = Client::new(self.authenticator()).allows_insecure_localhost(true);
        let made = client.authenticate(origin, wrapped(options)?, DefaultClientData).await;
        let made = made.map_err(|e| format!("{e:?}"))?;
        self.kept.clone_from(client.authenticator().store());
        plain(&made)
    }

    fn authenticator(&self) -> Authenticator<Option<Passkey>, Finger, RustCryptoBackend> {
        Authenticator::new(Aaguid::new_empty(), self.kept.clone(), Finger, RustCryptoBackend)
    }
}

fn wrapped<T: DeserializeOwned>(options: &Value) -> Result<T, String> {
    serde_json::from_value(json!({ "publicKey": options })).map_err(|e| e.to_string())
}

/// As a browser's script sends it: bytes as base64url. The library writes them as lists of numbers.
fn plain(made: &impl Serialize) -> Answer {
    Ok(as_text(serde_json::to_value(made).map_err(|e| e.to_string())?))
}

fn as_text(value: Value) -> Value {
    let bytes = |list: &[Value]| list.iter().map(|n| n.as_u64().and_then(|n| u8::try_from(n).ok())).collect();
    match value {
        Value::Array(list) => match bytes(&list) {
            Some::<Vec<u8>>(bytes) if !bytes.is_empty() => json!(URL_SAFE_NO_PAD.encode(bytes)),
            _ => Value::Array(list.into_iter().map(as_text).collect()),
        },
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, as_text(value))).collect(),
        other => other,
    }
}

/// Always there, always the right one.
struct Finger;

impl UserValidationMethod for Finger {
    type PasskeyItem = Passkey;

    fn check_user<'a, 'life0, 'async_trait>(
        &'life0 self,
        _hint: UiHint<'a, Passkey>,
        _presence: bool,
        _verification: bool,
    ) -> Pin<Box<dyn Future<Output = Result<UserCheck, Ctap2Error>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        'a: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(std::future::ready(Ok(UserCheck { presence: true, verification: true })))
    }

    fn is_presence_enabled(&self) -> bool {
        true
    }

    fn is_verification_enabled(&self) -> Option<bool> {
        Some(true)
    }
}

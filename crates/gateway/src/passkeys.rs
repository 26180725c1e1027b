//! What is asked of an authenticator, and what is checked of its answer. No storage, no time.
//!
//! webauthn-rs verifies signatures, challenges, origins and counters. Three things it leaves to its caller are done here:
//! a passkey has to be discoverable (it asks for the opposite), an answer made inside a foreign frame is refused at
//! sign-in too, and the handle an authenticator returns has to be the owner's.

use serde_json::{Value, json};
use webauthn_rs::prelude::{
    AuthenticationResult, CredentialID, DiscoverableAuthentication, Passkey, PasskeyAuthentication,
    PasskeyRegistration, PublicKeyCredential, RegisterPublicKeyCredential, Uuid, WebauthnError,
};
use webauthn_rs::{Webauthn, WebauthnBuilder};

use crate::error::{Error, Result};
use crate::id::PersonId;
use crate::name::PersonName;
use crate::settings::Settings;

/// The specification's own limit on a credential id.
const CREDENTIAL_ID_MAX: usize = 1_023;

/// One relying party.
#[derive(Clone, Debug)]
pub(crate) struct Passkeys {
    webauthn: Webauthn,
}

impl Passkeys {
    pub(crate) fn new(settings: &Settings) -> Result<Passkeys> {
        let webauthn = WebauthnBuilder::new(&settings.rp_id, &settings.origin)
            .and_then(|builder| builder.rp_name(&settings.name).build())
            .map_err(|_| Error::BadOrigin {
                origin: settings.origin.to_string(),
                why: "passkeys cannot be bound to it",
            })?;
        Ok(Passkeys { webauthn })
    }

    pub(crate) fn start_registration(
        &self,
        person: PersonId,
        name: &PersonName,
        have: Vec<CredentialID>,
    ) -> Result<(Value, PasskeyRegistration)> {
        let handle = Uuid::from_bytes(person.handle());
        let (options, state) = self
            .webauthn
            .start_passkey_registration(handle, name.as_str(), name.as_str(), Some(have))
            .map_err(|_| Error::CredentialRefused)?;
        let mut options = public_key(&options)?;
        // Signing in goes without a user name, so the authenticator has to keep the passkey itself.
        options["authenticatorSelection"]["residentKey"] = json!("required");
        options["authenticatorSelection"]["requireResidentKey"] = json!(true);
        Ok((options, state))
    }

    pub(crate) fn finish_registration(
        &self,
        answer: &RegisterPublicKeyCredential,
        state: &PasskeyRegistration,
    ) -> Result<Passkey> {
        // Says so only when the browser knows: silence is common, and then the request alone has to do.
        if answer.extensions.cred_props.as_ref().and_then(|props| props.rk) == Some(false) {
            return Err(Error::NotDiscoverable);
        }
        let passkey = self.webauthn.finish_passkey_registration(answer, state).map_err(refusal)?;
        if passkey.cred_id().len() > CREDENTIAL_ID_MAX
            || passkey.cred_id().as_slice() != answer.raw_id.as_slice()
        {
            return Err(Error::CredentialRefused);
        }
        Ok(passkey)
    }

    pub(crate) fn start_sign_in(&self) -> Result<(Value, DiscoverableAuthentication)> {
        let (options, state) =
            self.webauthn.start_discoverable_authentication().map_err(|_| Error::CredentialRefused)?;
        Ok((public_key(&options)?, state))
    }

    /// Whether `answer` was made with `passkey`, which belongs to `owner`.
    pub(crate) fn finish_sign_in(
        &self,
        answer: &PublicKeyCredential,
        state: DiscoverableAuthentication,
        passkey: &Passkey,
        owner: PersonId,
    ) -> Result<AuthenticationResult> {
        same_origin_frame(answer)?;
        if answer.get_user_unique_id() != Some(owner.handle().as_slice()) {
            return Err(Error::CredentialRefused);
        }
        let result = self.webauthn.finish_discoverable_authentication_v2(answer, state, passkey);
        result.map_err(refusal).and_then(verified)
    }

    pub(crate) fn start_confirmation(&self, passkeys: &[Passkey]) -> Result<(Value, PasskeyAuthentication)> {
        let (options, state) =
            self.webauthn.start_passkey_authentication(passkeys).map_err(|_| Error::CredentialRefused)?;
        Ok((public_key(&options)?, state))
    }

    pub(crate) fn finish_confirmation(
        &self,
        answer: &PublicKeyCredential,
        state: &PasskeyAuthentication,
        owner: PersonId,
    ) -> Result<AuthenticationResult> {
        same_origin_frame(answer)?;
        // A security key may leave the handle out when it was told which passkeys are meant.
        if answer.get_user_unique_id().is_some_and(|handle| handle != owner.handle()) {
            return Err(Error::CredentialRefused);
        }
        self.webauthn.finish_passkey_authentication(answer, state).map_err(refusal).and_then(verified)
    }
}

/// The options without their wrapper; asking for nothing to be shown in a form field.
fn public_key(options: &impl serde::Serialize) -> Result<Value> {
    let mut all = serde_json::to_value(options).map_err(|_| Error::Interrupted)?;
    Ok(all["publicKey"].take())
}

/// webauthn-rs looks at this at registration only.
fn same_origin_frame(answer: &PublicKeyCredential) -> Result<()> {
    let data: Value =
        serde_json::from_slice(&answer.response.client_data_json).map_err(|_| Error::CredentialRefused)?;
    let framed = data.get("crossOrigin") == Some(&Value::Bool(true)) || data.get("topOrigin").is_some();
    if framed { Err(Error::CredentialRefused) } else { Ok(()) }
}

fn verified(result: AuthenticationResult) -> Result<AuthenticationResult> {
    if result.user_verified() { Ok(result) } else { Err(Error::CredentialRefused) }
}

fn refusal(e: WebauthnError) -> Error {
    match e {
        WebauthnError::CredentialPossibleCompromise => Error::CounterWentBack,
        _ => Error::CredentialRefused,
    }
}

#[cfg(test)]
pub(crate) mod tests;

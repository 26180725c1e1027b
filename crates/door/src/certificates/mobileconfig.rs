//! The authority's certificate as iOS takes it: a configuration profile.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

/// Ids are made of the certificate, so that installing it again replaces it instead of adding a second one.
pub(super) fn profile(name: &str, der: &[u8]) -> String {
    let name = escaped(name);
    let (payload, whole) = (uuid(b"payload", der), uuid(b"profile", der));
    let content = STANDARD.encode(der);
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>PayloadContent</key>
  <array>
    <dict>
      <key>PayloadCertificateFileName</key><string>holdfast-authority.cer</string>
      <key>PayloadContent</key><data>{content}</data>
      <key>PayloadDescription</key><string>Lets this device trust the gateway's certificate, for its own names only.</string>
      <key>PayloadDisplayName</key><string>{name}</string>
      <key>PayloadIdentifier</key><string>holdfast.authority.{payload}</string>
      <key>PayloadType</key><string>com.apple.security.root</string>
      <key>PayloadUUID</key><string>{payload}</string>
      <key>PayloadVersion</key><integer>1</integer>
    </dict>
  </array>
  <key>PayloadDescription</key><string>After installing it, switch it on under General, About, Certificate Trust Settings.</string>
  <key>PayloadDisplayName</key><string>{name}</string>
  <key>PayloadIdentifier</key><string>holdfast.profile.{whole}</string>
  <key>PayloadRemovalDisallowed</key><false/>
  <key>PayloadType</key><string>Configuration</string>
  <key>PayloadUUID</key><string>{whole}</string>
  <key>PayloadVersion</key><integer>1</integer>
</dict>
</plist>
"#
    )
}

fn uuid(what: &[u8], der: &[u8]) -> String {
    let mut digest: [u8; 32] = Sha256::new().chain_update(what).chain_update(der).finalize().into();
    // A UUID of version 8: its bits are the maker's own.
    digest[6] = digest[6] & 0x0f | 0x80;
    digest[8] = digest[8] & 0x3f | 0x80;
    let hex: String = digest[..16].iter().map(|byte| format!("{byte:02X}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_holds_the_certificate_and_its_ids_are_stable() {
        insta::assert_snapshot!(profile("Holdfast & <me>", b"not really DER"));
        assert_ne!(profile("a", b"1"), profile("a", b"2"));
    }
}

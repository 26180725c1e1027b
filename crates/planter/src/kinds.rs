//! The kinds of secrets and decoys that templates name. Tokens have theirs in `tokens/`.

use crate::tokens::Token;
use crate::truth::Group;

/// Kinds of secrets, by their group.
const SECRETS: &[(Group, &[&str])] = &[
    (
        Group::ProviderToken,
        &[
            "aws_pair_id",
            "aws_pair_secret",
            "aws_pair_session_token",
            "azure_access_token",
            "azure_profile_secret",
            "composer_github_oauth",
            "composer_gitlab_token",
            "dockerfile_argument",
            "gcloud_client_secret",
            "gcloud_refresh_token",
            "gh_hosts_token",
            "kubeconfig_token",
            "maven_github_token",
            "npmrc_token",
            "pypirc_token",
            "rclone_token",
            "slack_webhook_in_yaml",
            "terraformrc_token",
        ],
    ),
    (
        Group::KeyValue,
        &[
            "android_resource_key",
            "ansible_password",
            "basic_auth_header",
            "bearer_header",
            "bearer_header_in_log",
            "c_define_password",
            "c_string_secret",
            "cargo_credentials",
            "chap_secret",
            "chpasswd_line",
            "cisco_line_password",
            "cisco_tacacs_key",
            "cisco_type7",
            "compose_password",
            "cron_environment",
            "csharp_secret",
            "curl_user_argument",
            "django_secret_key",
            "docker_auth",
            "docker_login_argument",
            "dockerfile_password",
            "elixir_secret",
            "env_password",
            "env_random_secret",
            "filezilla_password",
            "framework_crypt_key",
            "gem_credentials",
            "go_password",
            "gradle_password",
            "header_api_key",
            "ini_password",
            "ini_random_secret",
            "ipsec_psk",
            "jaas_password",
            "java_call_argument",
            "java_secret",
            "javascript_password",
            "javascript_random_secret",
            "jenkins_credential",
            "json_password",
            "json_random_secret",
            "k8s_secret_data",
            "k8s_string_data",
            "kotlin_secret",
            "laravel_app_key",
            "ldap_argument",
            "logstash_password",
            "machine_key",
            "mysql_argument",
            "net_use_argument",
            "netrc_password",
            "network_manager_psk",
            "nginx_header_secret",
            "npmrc_password",
            "openssl_passphrase_argument",
            "openvpn_inline_password",
            "pagerduty_routing_key",
            "password_in_log",
            "pgpass_password",
            "pgpassword_argument",
            "php_call_argument",
            "php_password",
            "php_random_secret",
            "phpmyadmin_blowfish_secret",
            "piped_password",
            "powershell_password",
            "properties_password",
            "properties_random_secret",
            "pypirc_password",
            "python_call_argument",
            "python_default_secret",
            "python_password",
            "rails_master_key",
            "rails_secret_key_base",
            "rclone_password",
            "redis_acl_password",
            "redis_cli_argument",
            "redis_requirepass",
            "ruby_password",
            "ruby_random_secret",
            "rust_secret",
            "sasl_password",
            "session_cookie",
            "shell_password_argument",
            "shell_variable",
            "smb_argument",
            "snmp_community",
            "spring_bean_password",
            "sql_identified_by",
            "sql_role_password",
            "sshpass_argument",
            "swift_secret",
            "terraform_default_secret",
            "terraform_resource_secret",
            "tfstate_password",
            "tfvars_secret",
            "toml_password",
            "toml_random_secret",
            "typescript_secret",
            "winscp_password",
            "wordpress_db_password",
            "wordpress_salt",
            "workflow_env_secret",
            "wpa_psk",
            "wpa_raw_psk",
            "xml_attribute_password",
            "xml_password",
            "yaml_password",
            "yaml_random_secret",
        ],
    ),
    (
        Group::PrivateKey,
        &[
            "age_identity",
            "gcp_service_account_key",
            "kubeconfig_client_key",
            "openvpn_static_key",
            "pem_dsa",
            "pem_ec",
            "pem_ed25519",
            "pem_openssh",
            "pem_pgp",
            "pem_pkcs8",
            "pem_pkcs8_sealed",
            "pem_rsa",
            "pem_rsa_sealed",
            "private_key_base64",
            "private_key_in_source",
            "private_key_in_string",
            "private_key_in_xml",
            "private_key_in_yaml",
            "private_key_inline",
            "putty_private_key",
            "wireguard_preshared_key",
            "wireguard_private_key",
        ],
    ),
    (
        Group::ConnectionString,
        &[
            "amqp_url",
            "azure_sas",
            "azure_service_bus_connection",
            "azure_storage_connection",
            "cloudinary_url",
            "ftp_url",
            "go_dsn",
            "https_url_password",
            "https_url_token",
            "jdbc_url",
            "mongodb_url",
            "mysql_url",
            "odbc_connection",
            "postgres_url",
            "proxy_url_password",
            "redis_connection",
            "redis_url",
            "smtp_url",
            "snowflake_url",
            "sqlserver_connection",
        ],
    ),
    (
        Group::Hash,
        &[
            "cisco_secret",
            "cloud_init_hash",
            "htpasswd_apr1",
            "htpasswd_bcrypt",
            "htpasswd_sha",
            "shadow_hash",
            "sql_argon2",
            "sql_bcrypt",
            "sql_mysql_hash",
            "sql_pbkdf2",
            "sql_phpass",
            "sql_scram",
        ],
    ),
    (
        Group::Prose,
        &[
            "notes_password",
            "prose_connection_string",
            "prose_credential_pair",
            "prose_password",
            "prose_token",
        ],
    ),
];

/// Kinds of decoys.
const DECOYS: &[&str] = &[
    "bitcoin_address",
    "cache_key",
    "certificate",
    "colour",
    "column_definition",
    "commit_id",
    "constant_name",
    "content_policy_hash",
    "digest",
    "documented_example",
    "doi",
    "drawing_path",
    "encoded_image",
    "environment_lookup",
    "etag",
    "format_description",
    "format_string",
    "function_call",
    "function_signature",
    "header_name",
    "helper",
    "hex_table",
    "host_hash",
    "html_form",
    "image_digest",
    "integrity_hash",
    "interface_text",
    "key_id",
    "lfs_pointer",
    "mail_signature",
    "message_id",
    "minified_code",
    "namespace",
    "nonce",
    "package_name",
    "path",
    "permission_name",
    "phone",
    "placeholder",
    "policy",
    "public_key",
    "public_token",
    "reference",
    "schema",
    "secret_reference",
    "serial_number",
    "sql_statement",
    "style_class",
    "test_value",
    "timestamp",
    "token_pattern",
    "translation",
    "type_declaration",
    "url_with_slug",
    "uuid",
    "vault_path",
    "wireguard_public_key",
];

/// Every kind of secret there is, with its group.
pub fn secret_kinds() -> Vec<(&'static str, Group)> {
    let named = SECRETS.iter().flat_map(|(group, kinds)| kinds.iter().map(|kind| (*kind, *group)));
    let tokens = Token::all().map(|token| (token.kind, Group::ProviderToken));
    tokens.chain(named).collect()
}

/// Every kind of decoy there is.
pub fn decoy_kinds() -> Vec<&'static str> {
    DECOYS.to_vec()
}

/// The group of a kind of secret.
pub fn group_of(kind: &str) -> Option<Group> {
    secret_kinds().into_iter().find(|(name, _)| *name == kind).map(|(_, group)| group)
}

/// The group of a kind a template names. Templates are part of this crate, so an unknown kind is a bug and stops.
pub(crate) fn group(kind: &str) -> Group {
    group_of(kind).unwrap_or_else(|| panic!("no group has {kind:?}"))
}

pub(crate) fn secret(name: &str) -> &'static str {
    let found = secret_kinds().into_iter().find(|(kind, _)| *kind == name);
    found.unwrap_or_else(|| panic!("there is no kind of secret {name:?}")).0
}

pub(crate) fn decoy(name: &str) -> &'static str {
    let found = DECOYS.iter().find(|kind| **kind == name);
    found.unwrap_or_else(|| panic!("there is no kind of decoy {name:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_kind_is_listed_once() {
        let secrets: BTreeSet<&str> = secret_kinds().iter().map(|(kind, _)| *kind).collect();
        assert_eq!(secrets.len(), secret_kinds().len());
        assert_eq!(DECOYS.iter().collect::<BTreeSet<_>>().len(), DECOYS.len());
    }

    #[test]
    fn there_are_enough_kinds_to_be_an_exam() {
        assert!(secret_kinds().len() >= 90 && decoy_kinds().len() >= 40);
        for group in Group::ALL {
            assert!(secret_kinds().iter().any(|(_, of)| *of == group), "{group:?} is empty");
        }
    }
}

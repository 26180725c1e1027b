//! Ways around the gates, each refused for its own reason. A way that was ever found stays in here.

use holdfast_steward::auditor::{Syntax, audit, lint_overlay};
use holdfast_steward::com::Com;
use holdfast_steward::gates::evaluated;
use holdfast_steward::policy::Verdict;
use holdfast_steward::setting::{Property, Value};
use serde_json::{Value as Json, json};

use crate::world::*;

type Edit = fn(&mut Com);

const SCHEMA: &str = "refused by schema";
const PARSE: &str = "refused by parse";
const TYPE: &str = "refused by type";
const POLICY: &str = "refused by policy";
const DRAFT: &str = "draft";

fn value(option: &str, old: &str, new: &str) -> String {
    proposing(WORKLOAD, option, old, new).to_string()
}

fn memory(new: &str) -> String {
    value("MemoryMax", "1536M", new)
}

fn option(name: &str, new: &str) -> String {
    value(name, "1", new)
}

fn field(name: &str, value: Json) -> String {
    good_with(&[(name, value)]).to_string()
}

fn answers() -> Vec<(&'static str, String, &'static str, &'static str)> {
    let good = good().to_string();
    vec![
        // The text itself.
        ("one megabyte", field("rationale", "x".repeat(1 << 20).into()), SCHEMA, "bytes long"),
        (
            "deep nesting",
            field("also", serde_json::from_str(&("[".repeat(60) + &"]".repeat(60))).unwrap()),
            SCHEMA,
            "inside one another",
        ),
        ("very deep nesting", "[".repeat(60_000), SCHEMA, "inside one another"),
        ("duplicate key", good.replacen('{', "{\"new_value\":\"3G\",", 1), SCHEMA, "stands twice"),
        ("escaped duplicate", good.replacen('{', "{\"new\\u005fvalue\":\"3G\",", 1), SCHEMA, "stands twice"),
        ("duplicate inside", good.replace("\"host\"", "\"host\":\"evil\",\"host\""), SCHEMA, "stands twice"),
        ("two objects", format!("{good}{good}"), SCHEMA, "trailing"),
        ("a list of proposals", format!("[{good}]"), SCHEMA, "no JSON object"),
        ("fenced in Markdown", format!("```json\n{good}\n```"), SCHEMA, "not JSON"),
        ("prose around it", format!("Here it is: {good}"), SCHEMA, "not JSON"),
        ("byte order mark", format!("\u{feff}{good}"), SCHEMA, "not JSON"),
        ("comment in JSON", good.replacen('{', "{/* x */", 1), SCHEMA, "not JSON"),
        ("single field case", good.replace("\"new_value\"", "\"New_Value\""), SCHEMA, "is unknown"),
        ("smuggled approval", field("approved", true.into()), SCHEMA, "is unknown"),
        ("smuggled tier", field("tier", 1.into()), SCHEMA, "is unknown"),
        ("smuggled id", field("id", "../../x".into()), SCHEMA, "is unknown"),
        ("smuggled overlay", field("overlay_file", "flake.nix".into()), SCHEMA, "is unknown"),
        ("no action and a change", field("no_action", "none".into()), SCHEMA, "either no_action alone"),
        ("list of values", field("new_value", json!(["1792M", "3G"])), SCHEMA, "invalid type"),
        ("value as a number", field("new_value", 1792.into()), SCHEMA, "invalid type"),
        // Places.
        (
            "foreign host",
            field(
                "verification_checks",
                json!([{"type": "ssh_probe", "host": "evil", "timeout_seconds": 9}]),
            ),
            SCHEMA,
            "not in the target's",
        ),
        (
            "host with an option",
            field(
                "verification_checks",
                json!([{"type": "ssh_probe", "host": "-oProxyCommand=id", "timeout_seconds": 9}]),
            ),
            SCHEMA,
            "not in the target's",
        ),
        (
            "metadata endpoint",
            field(
                "verification_checks",
                json!([{"type": "health_check", "endpoint": "http://169.254.169.254/", "timeout_seconds": 9}]),
            ),
            SCHEMA,
            "not in the target's",
        ),
        (
            "endless check",
            field(
                "verification_checks",
                json!([{"type": "ssh_probe", "host": "target-1", "timeout_seconds": 4_000_000}]),
            ),
            SCHEMA,
            "timeout_seconds",
        ),
        (
            "a check of its own",
            field("verification_checks", json!([{"type": "exec", "command": "id"}])),
            SCHEMA,
            "unknown variant",
        ),
        // A second assignment hidden in a value.
        ("newline", memory("1792M\nExecStartPre=/x"), SCHEMA, "control characters"),
        ("carriage return", memory("1792M\rUser=root"), SCHEMA, "control characters"),
        ("line separator", memory("1792M\u{2028}User=root"), SCHEMA, "control characters"),
        ("null byte", memory("1792M\u{0}"), SCHEMA, "control characters"),
        ("continuation line", memory("1792M\\"), PARSE, "one plain word"),
        ("specifier", memory("%h"), PARSE, "one plain word"),
        ("specifier behind a value", memory("1792M%i"), PARSE, "one plain word"),
        ("second assignment", memory("1792M; User=root"), PARSE, "one plain word"),
        ("quote that closes", memory("1792M\"; x=\""), PARSE, "one plain word"),
        ("interpolation", memory("${builtins.x}"), PARSE, "one plain word"),
        ("forced priority in a value", memory("lib.mkForce 3G"), PARSE, "one plain word"),
        ("blank", memory(" 1792M"), PARSE, "one plain word"),
        ("long value", memory(&"1".repeat(33)), SCHEMA, "33 characters"),
        ("hidden in the old value", value("MemoryMax", "1536M;x=1", "1792M"), PARSE, "one plain word"),
        (
            "hidden in the other half",
            field(
                "also",
                json!({"target_option": "MemoryHigh", "old_value": "1280M", "new_value": "1536M;User=0"}),
            ),
            PARSE,
            "one plain word",
        ),
        // Names.
        ("look-alike option", value("MеmoryMax", "1536M", "1792M"), PARSE, "a property is"),
        ("full-width option", value("ＭemoryMax", "1536M", "1792M"), PARSE, "a property is"),
        ("option with a blank", value("MemoryMax ", "1536M", "1792M"), PARSE, "a property is"),
        ("option with an assignment", value("MemoryMax=1\u{3d}", "1536M", "1792M"), PARSE, "a property is"),
        ("option as a path", value("../MemoryMax", "1536M", "1792M"), PARSE, "a property is"),
        (
            "look-alike unit",
            proposing("оpenclaw-task-runner.service", "MemoryMax", "1536M", "1792M").to_string(),
            PARSE,
            "a unit is",
        ),
        (
            "unit that climbs",
            proposing("../../etc/x.service", "MemoryMax", "1536M", "1792M").to_string(),
            PARSE,
            "a unit is",
        ),
        (
            "unit with a line break",
            proposing("a.service\n", "MemoryMax", "1536M", "1792M").to_string(),
            SCHEMA,
            "control characters",
        ),
        (
            "unit in another case",
            proposing("Openclaw-Task-Runner.service", "MemoryMax", "1536M", "1792M").to_string(),
            DRAFT,
            "no unit of this target",
        ),
        (
            "unit out of scope",
            proposing("other.service", "MemoryMax", "256M", "300M").to_string(),
            POLICY,
            "not in scope",
        ),
        (
            "a drop-in folder as unit",
            proposing("a.service.d", "MemoryMax", "1536M", "1792M").to_string(),
            PARSE,
            "a unit is",
        ),
        ("option in another case", value("memorymax", "1536M", "1792M"), DRAFT, "nothing is known"),
        // Values.
        ("overflow", memory("18446744073709551616"), TYPE, "expected a size"),
        ("overflow by suffix", memory("17179869184G"), TYPE, "expected a size"),
        ("the largest number", memory("18446744073709551615"), POLICY, "outside of 256M to 3G"),
        ("zero", memory("0"), POLICY, "outside of 256M to 3G"),
        ("negative", memory("-1"), TYPE, "expected a size"),
        ("signed", memory("+1792M"), TYPE, "expected a size"),
        ("K for M", memory("1792K"), POLICY, "outside of 256M to 3G"),
        ("no suffix", memory("1792"), POLICY, "outside of 256M to 3G"),
        ("small letter", memory("1792m"), TYPE, "expected a size"),
        ("decimal suffix", memory("1792MB"), TYPE, "expected a size"),
        ("exponent", memory("1e9"), TYPE, "expected a size"),
        ("hexadecimal", memory("0x70000000"), TYPE, "expected a size"),
        ("share of memory", memory("50%"), TYPE, "expected a size"),
        ("no change", memory("1536M"), POLICY, "nothing would change"),
        ("no change, other spelling", memory("1572864K"), POLICY, "nothing would change"),
        ("percent without its sign", value("CPUQuota", "100%", "110"), TYPE, "expected a percentage"),
        ("percent overflow", value("CPUQuota", "100%", "4294967296%"), TYPE, "expected a percentage"),
        ("fraction of a percent", value("CPUQuota", "100%", "110.5%"), TYPE, "expected a percentage"),
        ("quota of nothing", value("CPUQuota", "100%", "0%"), POLICY, "outside of 25% to 400%"),
        ("infinite Nice", value("Nice", "0", "infinity"), TYPE, "whole number"),
        ("Nice that starves", value("Nice", "0", "-20"), POLICY, "more than 3"),
        (
            "two options",
            field("also", json!({"target_option": "Nice", "old_value": "0", "new_value": "1"})),
            POLICY,
            "2 settings",
        ),
        ("stated old value", value("MemoryMax", "2560M", "3G"), POLICY, "old_value is 2560M"),
        // Options that were nobody's before.
        ("activation script", option("system.activationScripts.x.text", "id"), DRAFT, "it runs code"),
        ("unit script", option("systemd.services.x.script", "id"), DRAFT, "it runs code"),
        ("ExecStartPre", option("ExecStartPre", "/bin/sh"), DRAFT, "it runs code"),
        ("ExecStopPost in another case", option("EXECSTOPPOST", "/bin/sh"), DRAFT, "it runs code"),
        (
            "SSH setting",
            option("services.openssh.settings.PermitRootLogin", "yes"),
            DRAFT,
            "reached through it",
        ),
        ("opened port", option("networking.firewall.allowedTCPPorts", "23"), DRAFT, "reached through it"),
        ("another user", option("users.users.mallory.isNormalUser", "true"), DRAFT, "it defines users"),
        (
            "key of another user",
            option("users.users.mallory.openssh.authorizedKeys.keys", "x"),
            DRAFT,
            "who may log in",
        ),
        ("root's password", option("users.users.root.hashedPassword", "x"), POLICY, "it is about root"),
        ("firewall off", option("networking.firewall.enable", "false"), POLICY, "switches the firewall off"),
        ("SSH off", option("services.openssh.enable", "false"), POLICY, "switches SSH off"),
        ("SSH off in another case", option("services.OpenSSH.enable", "False"), POLICY, "switches SSH off"),
        ("VPN off", option("services.tailscale.enable", "false"), POLICY, "switches the VPN off"),
        ("sudo", option("security.sudo.wheelNeedsPassword", "false"), DRAFT, "may become root"),
        ("a secret", option("age.secrets.token.file", "x"), DRAFT, "it is a secret"),
        ("flake.lock as an option", option("flake.lock", "x"), DRAFT, "nothing is known"),
        ("import of other code", option("imports", "/tmp/x.nix"), DRAFT, "it adds code"),
        ("import of the steward", option("imports", "modules/services/steward.nix"), DRAFT, "steward itself"),
        ("import that climbs", option("imports", "modules/services/../../x"), DRAFT, ""),
        ("environment", option("Environment", "LD_PRELOAD"), DRAFT, "what a program is told"),
        ("sandbox off", option("NoNewPrivileges", "false"), DRAFT, "fenced in"),
        (
            "critical unit in scope",
            proposing("vpn.service", "MemoryMax", "unset", "256M").to_string(),
            DRAFT,
            "reachable",
        ),
        (
            "SSH unit in scope",
            proposing("sshd.service", "CPUQuota", "unset", "25%").to_string(),
            DRAFT,
            "reached through it",
        ),
        (
            "the slice around everything",
            proposing("system.slice", "MemoryMax", "unset", "256M").to_string(),
            DRAFT,
            "runs inside of it",
        ),
    ]
}

// shows: STW-343, STW-382
#[test]
fn no_answer_finds_a_way_around_the_gates() {
    let answers = answers();
    assert!(answers.len() >= 40, "{}", answers.len());
    for (what, text, word, part) in &answers {
        check(what, &judge_text(text), word, part);
    }
}

#[test]
fn what_removes_or_sets_a_first_limit_waits_for_a_person() {
    for (what, text) in [
        ("infinity", memory("infinity")),
        ("unset", memory("unset")),
        ("infinite quota", value("CPUQuota", "100%", "infinity")),
        ("first limit", proposing("nix-daemon.service", "MemoryMax", "unset", "512M").to_string()),
    ] {
        check(what, &judge_text(&text), "cleared in tier Two", "");
    }
}

#[test]
fn no_rendered_text_or_path_finds_a_way_around_the_auditor() {
    let blocked = |paths: &[&str], text: &str, verdict| {
        let found = audit(paths, text, Syntax::Module, &unit(WORKLOAD));
        assert_eq!(found.verdict, verdict, "{paths:?} {text}");
    };
    for path in [
        "overlays/../flake.nix",
        "/etc/shadow",
        "overlays//x.nix",
        "overlays/./x.nix",
        "overlays/flake.nіx",
        "overlays\\x.nix",
        "overlays/%2e%2e/x",
        ".GitHub/Workflows/ci.yml",
        "home/a/.ssh/Authorized_Keys",
    ] {
        blocked(&[path], "", Verdict::Blocked);
    }
    for path in
        ["Flake.Lock", "secrets/x", "SECRETS/x", "a/b.age", "modules/services/Steward.nix", "hosts/a/b.nix"]
    {
        blocked(&[path], "", Verdict::DraftOnly);
    }
    for text in [
        "services.openssh.enable = lib.mkForce false;",
        "services.openssh.enable=lib.mkOverride 0 false;",
        "services . openssh.enable = 1; \"services\".\"openssh\".\"enable\" = false;",
        "{ x = 1; services.openssh.enable = false; }",
        "networking.firewall.enable = (false);",
    ] {
        blocked(&[], text, Verdict::Blocked);
    }
    // The good path beside a bad one does not make it better.
    blocked(&["overlays/x.nix", "flake.lock"], "[Service]\nNice=1\n", Verdict::DraftOnly);
}

// shows: STW-271
#[test]
fn no_overlay_that_says_more_than_its_one_setting_passes_the_lint() {
    let one = "systemd.services.\"openclaw-task-runner\".serviceConfig.Nice = lib.mkForce 1;";
    assert!(lint_overlay(&format!("{{ lib, ... }}: {{ {one} }}"), &com()).is_ok());
    for more in [
        "services = { openssh = { enable = false; }; };",
        "system.activationScripts.x = \"id\";",
        "systemd.services.\"openclaw-task-runner\".serviceConfig.ExecStart = \"id\";",
        "imports = [ ./x.nix ];",
        "environment.etc.x.text = \"y\";",
    ] {
        assert!(lint_overlay(&format!("{{ lib, ... }}: {{ {one} {more} }}"), &com()).is_err(), "{more}");
    }
}

// shows: STW-346
#[test]
fn no_side_effect_passes_the_evaluated_check() {
    let raised = change(WORKLOAD, Property::MemoryMax, Value::Bytes(1536 * MIB), Value::Bytes(1792 * MIB));
    let edits: [(&str, Edit); 9] = [
        ("SSH forced off", |com| com.ssh_enabled = false),
        ("VPN gone", |com| com.vpn_enabled = None),
        ("firewall off through a variable", |com| com.firewall_enabled = false),
        ("a port opened", |com| com.units.get_mut(&unit(WORKLOAD)).unwrap().listens.push(23)),
        ("a script added", |com| com.units.get_mut(&unit(WORKLOAD)).unwrap().definition = "sha256:x".into()),
        ("a user added", |com| com.rest = "sha256:x".into()),
        ("another unit limited", |com| set(com, "sshd.service", Property::MemoryMax, Value::Bytes(1))),
        ("a unit switched off", |com| com.units.get_mut(&unit("other.service")).unwrap().enabled = false),
        ("an unknown option set", |com| set(com, WORKLOAD, property("OOMScoreAdjust"), Value::Number(1))),
    ];
    for (what, edit) in edits {
        let mut after = com().with(&raised);
        edit(&mut after);
        assert!(evaluated(&com(), &after, std::slice::from_ref(&raised), &rules()).is_err(), "{what}");
    }
}

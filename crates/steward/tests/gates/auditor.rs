//! The auditor: one fixture per pattern, paths apart from content, and what patterns cannot see but evaluation does.

use holdfast_steward::auditor::{Syntax, audit, audit_changes};
use holdfast_steward::com::Com;
use holdfast_steward::gates::evaluated;
use holdfast_steward::ladder::{Approval, Level, Permission, may_try};
use holdfast_steward::policy::{Tier, Verdict};
use holdfast_steward::setting::{Property, Value};

use crate::world::*;

type Edit = fn(&mut Com);

fn path(path: &str, verdict: Verdict) {
    let audit = audit(&[path], "", Syntax::Module, &unit(WORKLOAD));
    assert_eq!(audit.verdict, verdict, "{path}: {:?}", audit.findings);
}

/// A text that begins with a section is a drop-in; anything else is a module.
fn text(text: &str, verdict: Verdict) {
    let is_drop_in = text.lines().any(|line| line.starts_with('['));
    let syntax = if is_drop_in { Syntax::DropIn } else { Syntax::Module };
    let audit = audit(&[], text, syntax, &unit(WORKLOAD));
    assert_eq!(audit.verdict, verdict, "{text}: {:?}", audit.findings);
}

// shows: STW-145
#[test]
fn each_blocked_pattern_blocks() {
    path(".github/workflows/ci.yml", Verdict::Blocked);
    path("home/alice/.ssh/authorized_keys", Verdict::Blocked);
    for line in [
        "users.users.root.password = \"x\";",
        "users.users.\"root\".password = \"x\";",
        "networking.firewall.enable = false;",
        "networking.firewall.enable=false;",
        "networking.firewall.enable\n  =\n  false ;",
        "services.openssh.enable = false;",
        "services.tailscale.enable = false;",
    ] {
        text(&format!("{{ lib, ... }}:\n{{\n  {line}\n}}\n"), Verdict::Blocked);
    }
}

/// An earlier list called all of these supervised; the table makes most of them draft only, which is stricter.
#[test]
fn each_supervised_pattern_needs_at_least_a_person() {
    path("modules/services/steward.nix", Verdict::DraftOnly);
    path("secrets/secrets.nix", Verdict::DraftOnly);
    for line in [
        "age.secrets.token.file = ./x;",
        "security.sudo.enable = true;",
        "networking.nftables.enable = true;",
        "boot.kernelPackages = pkgs.linux;",
        "boot.initrd.kernelModules = [ ];",
        "boot.kernelModules = [ \"x\" ];",
        "boot.loader.grub.device = \"/dev/sda\";",
        "fileSystems.\"/\".device = \"/dev/sda1\";",
        "swapDevices = [ ];",
    ] {
        text(line, Verdict::DraftOnly);
    }
    text("swapDevices[].size = 2560;", Verdict::Supervised);
    text("boot.kernel.sysctl.vm.swappiness = 10;", Verdict::Supervised);
}

// shows: STW-147
#[test]
fn what_belongs_to_the_steward_is_stratum_0_and_draft_only() {
    for name in [
        "modules/services/steward.nix",
        "modules/services/steward-tripwire.nix",
        "hosts/controller-1/configuration.nix",
        "lib/constitution.json",
        "src/auditor.rs",
        "src/invariant_checker.rs",
    ] {
        path(name, Verdict::DraftOnly);
        assert!(audit(&[name], "", Syntax::Module, &unit(WORKLOAD)).findings[0].own, "{name}");
    }
    text("services.steward.enable = false;", Verdict::DraftOnly);
    let own = change("steward-tripwire.service", Property::MemoryMax, Value::Unset, Value::Bytes(GIB));
    let found = audit_changes(&[own], &unit(WORKLOAD));
    assert_eq!(found.verdict, Verdict::DraftOnly);
    assert!(found.findings.iter().any(|finding| finding.own));
    let judged = judge_text(&proposing("steward-tripwire.service", "MemoryMax", "unset", "512M").to_string());
    check("own unit", &judged, "draft", "belongs to the steward itself");
    let judged = judge_text(&proposing(WORKLOAD, "services.steward.enable", "true", "false").to_string());
    check("own option", &judged, "draft", "belongs to the steward itself");
}

#[test]
fn a_plain_change_is_autonomous_in_every_form() {
    text("[Service]\nMemoryMax=1792M\n", Verdict::Autonomous);
    text("{ systemd.services.\"a\".serviceConfig.MemoryMax = lib.mkForce \"1792M\"; }", Verdict::Autonomous);
    let change = change(WORKLOAD, Property::Nice, Value::Number(0), Value::Number(1));
    assert_eq!(audit_changes(&[change], &unit(WORKLOAD)).verdict, Verdict::Autonomous);
}

// shows: STW-132, STW-144
#[test]
fn a_verdict_is_given_for_every_change_and_only_autonomous_goes_without_a_person() {
    let of = |option: &str, to: Value| change(WORKLOAD, property(option), Value::Unset, to);
    for (changed, tier, verdict) in [
        (of("MemoryMax", Value::Bytes(GIB)), Tier::One, Verdict::Autonomous),
        (of("CPUWeight", Value::Number(200)), Tier::Two, Verdict::Supervised),
        (of("OOMScoreAdjust", Value::Number(1)), Tier::Three, Verdict::DraftOnly),
        (of("users.users.root.uid", Value::Number(1)), Tier::Never, Verdict::Blocked),
    ] {
        let plain = of("Nice", Value::Number(1));
        assert_eq!(
            audit_changes(&[plain, changed], &unit(WORKLOAD)).verdict,
            verdict,
            "the strictest counts"
        );
        assert_eq!(tier.verdict(), verdict);
        for level in Level::ALL {
            let alone = may_try(level, tier, Approval::Absent) == Permission::Yes;
            assert_eq!(
                alone,
                verdict == Verdict::Autonomous && level >= Level::TierOne,
                "{verdict:?} {level:?}"
            );
        }
    }
}

/// One thing in the words of each kind of target: a typed change, a drop-in, a module.
// shows: STW-275
#[test]
fn one_auditor_reads_a_typed_change_a_drop_in_and_a_module() {
    for (option, value, typed, verdict) in [
        ("MemoryMax", "1792M", Value::Bytes(1792 * MIB), Verdict::Autonomous),
        ("CPUWeight", "200", Value::Number(200), Verdict::Supervised),
        ("ExecStartPre", "1", Value::Number(1), Verdict::DraftOnly),
        ("services.steward.enable", "0", Value::Number(0), Verdict::DraftOnly),
        ("users.users.root.uid", "0", Value::Number(0), Verdict::Blocked),
    ] {
        let changed = change(WORKLOAD, property(option), Value::Unset, typed);
        assert_eq!(audit_changes(&[changed], &unit(WORKLOAD)).verdict, verdict, "{option}");
        text(&format!("[Service]\n{option}={value}\n"), verdict);
        text(&format!("{{ ... }}: {{\n  {option} = {value};\n}}\n"), verdict);
    }
    // A unit by its name, and what only a source can say: paths, and a value that switches something off.
    let own = change("steward-tripwire.service", Property::MemoryMax, Value::Unset, Value::Bytes(GIB));
    assert_eq!(audit_changes(&[own], &unit(WORKLOAD)).verdict, Verdict::DraftOnly);
    path("flake.lock", Verdict::DraftOnly);
    text("{ networking.firewall.enable = lib.mkForce false; }", Verdict::Blocked);
}

#[test]
fn a_drop_in_that_runs_something_is_found() {
    for line in [
        "ExecStartPre=/bin/sh",
        "User=root",
        "ProtectSystem=no",
        "Environment=LD_PRELOAD=/tmp/x",
        "ListenStream=23",
    ] {
        text(&format!("[Service]\n{line}\n"), Verdict::DraftOnly);
    }
}

#[test]
fn words_in_passing_are_no_paths_and_no_options() {
    for passing in [
        "# the authorized_keys of root stay as they are\n[Service]\nNice=1\n",
        "[Service]\n; services.openssh.enable = false\nNice=1\n",
        "/* networking.firewall.enable = false; */ { Nice = 1; }",
        "{ Nice = 1; } # boot.loader.grub.enable = false;",
        "[Unit]\nDescription=.github/workflows/ci.yml and flake.lock\n",
    ] {
        text(passing, Verdict::Autonomous);
    }
    // What is a comment in one syntax is none in the other.
    text("[Service]\nNice=1 /*\nExecStartPre=/x\n", Verdict::DraftOnly);
    text("{ Nice = 1\n; services.openssh.enable = false; }", Verdict::Blocked);
    // Quotes that need an evaluator to be told apart.
    text("{ a = \"\\\"\"; b = \"#\"; services.openssh.enable = false; }", Verdict::Blocked);
    text("{ a = ''\"''; b = \"#\"; services.openssh.enable = false; }", Verdict::Blocked);
    // A mark of a comment inside of a quoted text hides nothing.
    text("{ a = \"#\"; services.openssh.enable = false; }", Verdict::Blocked);
    text("{ a = \"/*\"; services.openssh.enable = false; b = \"*/\"; }", Verdict::Blocked);
}

#[test]
fn a_text_too_long_to_be_an_overlay_is_blocked() {
    text(&"#".repeat((64 << 10) + 1), Verdict::Blocked);
}

// shows: STW-150, STW-200
#[test]
fn evaluation_catches_what_patterns_cannot() {
    let raised = change(WORKLOAD, Property::MemoryMax, Value::Bytes(1536 * MIB), Value::Bytes(1792 * MIB));
    let check = |overlay: &str, edit: Edit, part: &str| {
        text(overlay, Verdict::Autonomous);
        let mut after = com().with(&raised);
        edit(&mut after);
        let reason = evaluated(&com(), &after, std::slice::from_ref(&raised), &rules()).unwrap_err();
        assert!(reason.contains(part), "{overlay}: {reason}");
    };
    let (ssh, vpn, firewall): (Edit, Edit, Edit) = (
        |com| com.ssh_enabled = false,
        |com| com.vpn_enabled = Some(false),
        |com| com.firewall_enabled = false,
    );
    for (overlay, edit, part) in [
        // Forced priorities.
        ("{ services = lib.mkForce { openssh.enable = false; }; }", ssh, "SSH"),
        ("{ config = lib.mkOverride 0 { firewall.enable = false; }; }", firewall, "firewall"),
        // Nested attribute sets.
        ("{ services = { openssh = { enable = false; }; }; }", ssh, "SSH"),
        ("{ services = { tailscale = { enable = false; }; }; }", vpn, "VPN"),
        // Values through variables.
        ("let name = \"openssh\"; off = false; in { services.${name}.enable = off; }", ssh, "SSH"),
        ("let f = { n }: { ${n}.enable = 1 == 2; }; in { services = f { n = \"tailscale\"; }; }", vpn, "VPN"),
    ] {
        check(overlay, edit, part);
    }
}

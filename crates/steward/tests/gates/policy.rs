//! The one table: every item of the tiers and of the auditor's lists, and what is on neither.

use holdfast_steward::com::Com;
use holdfast_steward::policy::{Subject, TABLE, Tier, Verdict, listed_unit, option_rule, path_rule};
use holdfast_steward::setting::{Property, Value};

use crate::difference::difference;
use crate::world::*;

fn option(name: &str, value: &str, tier: Tier) {
    let rule = option_rule(name, value, &unit(WORKLOAD));
    assert_eq!(rule.effective_tier(), tier, "{name} = {value}: {}", rule.why);
}

fn path(name: &str, tier: Tier) {
    let rule = path_rule(name);
    assert_eq!(rule.effective_tier(), tier, "{name}: {}", rule.why);
}

#[test]
fn the_tier_alone_gives_the_verdict() {
    for (tier, verdict) in [
        (Tier::One, Verdict::Autonomous),
        (Tier::Two, Verdict::Supervised),
        (Tier::Three, Verdict::DraftOnly),
        (Tier::Never, Verdict::Blocked),
    ] {
        assert_eq!(tier.verdict(), verdict);
    }
}

// shows: STW-344
#[test]
fn every_item_of_the_tiers_and_of_the_auditors_lists_has_its_tier() {
    for name in ["MemoryMax", "MemoryHigh", "CPUQuota", "Nice", "nix.settings.max-jobs", "nix.settings.cores"]
    {
        option(name, "1", Tier::One);
    }
    for (name, value) in [
        ("swapDevices[].size", "2G"),
        ("services.openclaw.workers", "4"),
        ("services.openclaw-task-runner.workers", "4"),
        ("boot.kernel.sysctl.vm.swappiness", "10"),
        ("boot.kernel.sysctl.net.core.somaxconn", "4096"),
        ("imports", "modules/services/gitea.nix"),
        ("pins.ripgrep", "14.1.0"),
        ("CPUWeight", "200"),
        ("IOWeight", "200"),
        ("TasksMax", "512"),
        ("MemoryLow", "128M"),
        ("MemorySwapMax", "128M"),
        ("AllowedCPUs", "0-1"),
    ] {
        option(name, value, Tier::Two);
    }
    for (name, value) in [
        ("networking.nftables.ruleset", "x"),
        ("networking.nftables.enable", "true"),
        ("networking.firewall.allowedTCPPorts", "22"),
        ("networking.firewall.enable", "true"),
        ("security.sudo.wheelNeedsPassword", "false"),
        ("age.secrets.token.file", "x"),
        ("users.users.alice.extraGroups", "wheel"),
        ("users.users.alice.openssh.authorizedKeys.keys", "x"),
        ("users.groups.wheel.members", "x"),
        ("boot.loader.grub.enable", "false"),
        ("boot.kernelPackages", "x"),
        ("boot.initrd.enable", "x"),
        ("boot.kernelModules", "x"),
        ("boot.kernel.sysctl.kernel.panic", "1"),
        ("fileSystems./.options", "x"),
        ("swapDevices", "[]"),
        ("swapDevices[].device", "x"),
        ("services.openssh.settings.PermitRootLogin", "yes"),
        ("services.tailscale.port", "1"),
        ("services.openclaw.enable", "false"),
        ("services.steward.enable", "true"),
        ("services.holdfast.enable", "true"),
        ("imports", "modules/services/steward.nix"),
        ("imports", "/tmp/x.nix"),
        ("pins.openssh", "9"),
        ("pins.linuxPackages", "6"),
        ("system.activationScripts.x.text", "x"),
        ("ExecStart", "x"),
        ("ExecStartPre", "x"),
        ("User", "root"),
        ("SupplementaryGroups", "wheel"),
        ("ProtectSystem", "false"),
        ("NoNewPrivileges", "false"),
        ("CapabilityBoundingSet", "x"),
        ("ReadWritePaths", "/"),
        ("DeviceAllow", "x"),
        ("IPAddressDeny", "any"),
        ("ListenStream", "23"),
        ("BindsMountsFor", "x"),
    ] {
        option(name, value, Tier::Three);
    }
    for (name, value) in [
        ("users.users.root.hashedPassword", "x"),
        ("networking.firewall.enable", "false"),
        ("networking.firewall.enable", "lib.mkForce false"),
        ("services.openssh.enable", "false"),
        ("services.tailscale.enable", "false"),
        ("SERVICES.OpenSSH.enable", "FALSE"),
    ] {
        option(name, value, Tier::Never);
    }
    for name in [
        "modules/services/steward.nix",
        "modules/services/steward-tripwire.nix",
        "hosts/controller-1/configuration.nix",
        "hosts/target-1/configuration.nix",
        "flake.nix",
        "flake.lock",
        "secrets/secrets.nix",
        "secrets/token.age",
        "secrets/other/deep.txt",
        "policy/constitution.json",
        "lib/auditor.rs",
        "lib/invariants.rs",
        "etc/holdfast/config.yaml",
    ] {
        path(name, Tier::Three);
    }
    for name in [".github/workflows/ci.yml", "root/.ssh/authorized_keys", "etc/ssh/authorized_keys.d/root"] {
        path(name, Tier::Never);
    }
}

// shows: STW-299
#[test]
fn what_no_row_names_is_for_people() {
    for name in [
        "OOMScoreAdjust",
        "memorymax",
        "MEMORYMAX",
        "Memory",
        "MemoryMaxx",
        "systemd.services.x.serviceConfig.MemoryMax",
    ] {
        option(name, "1", Tier::Three);
        let judged = judge_text(&proposing(WORKLOAD, name, "1", "2").to_string());
        check(name, &judged, "draft", "is not the steward's to change");
    }
    path("README.md", Tier::Three);
    for (name, word) in [
        ("CPUWeight", "cleared in tier Two"),
        ("ExecStart", "draft"),
        ("User", "draft"),
        ("ProtectHome", "draft"),
    ] {
        check(name, &judge_text(&proposing(WORKLOAD, name, "100", "200").to_string()), word, "");
    }
    for service in ["sshd.service", "vpn.service", "nft.service", "new.service", "data.mount"] {
        check(
            service,
            &judge_text(&proposing(service, "MemoryMax", "unset", "512M").to_string()),
            "draft",
            "",
        );
    }
}

// shows: STW-317
#[test]
fn only_declared_resource_limits_are_tried_alone() {
    let alone: Vec<&str> = TABLE
        .iter()
        .filter(|rule| rule.effective_tier() == Tier::One)
        .map(|rule| {
            assert!(
                matches!(rule.subject, Subject::Option(_)) && rule.bounds.is_some(),
                "{:?}",
                rule.subject
            );
            rule.subject.pattern()
        })
        .collect();
    assert_eq!(
        alone,
        ["MemoryMax", "MemoryHigh", "CPUQuota", "Nice", "nix.settings.max-jobs", "nix.settings.cores"]
    );
    // What leaves something behind that no rollback takes back.
    for name in [
        "system.activationScripts.migrate.text",
        "systemd.services.x.preStart",
        "ExecStartPre",
        "ExecStopPost",
        "StateDirectory",
        "services.postgresql.package",
        "services.openclaw.database",
        "system.stateVersion",
        "pins.postgresql",
        "boot.kernel.sysctl.vm.swappiness",
        "swapDevices[].size",
    ] {
        assert!(option_rule(name, "1", &unit(WORKLOAD)).effective_tier() >= Tier::Two, "{name}");
        let judged = judge_text(&proposing(WORKLOAD, name, "1", "2").to_string());
        assert_ne!(verdict(&judged).0, "cleared in tier One", "{name}");
    }
}

// shows: STW-213
#[test]
fn what_counts_as_success_is_for_people_to_say() {
    for setting in ["primaryMetric", "direction", "minimumEffect", "safetyInvariants", "guards"] {
        for whose in ["services.steward", "services.holdfast"] {
            let name = format!("{whose}.evaluation.{setting}");
            option(&name, "x", Tier::Three);
            let judged = judge_text(&proposing(WORKLOAD, &name, "a", "b").to_string());
            check(&name, &judged, "draft", "belongs to the steward itself");
        }
        let bare = judge_text(&proposing(WORKLOAD, &format!("evaluation.{setting}"), "a", "b").to_string());
        check(setting, &bare, "draft", "not the steward's to change");
    }
    path("policy/constitution.json", Tier::Three);
    // Not even as something that comes along with a change that is allowed.
    for edit in [|com: &mut Com| com.own_configuration = "x".into(), |com: &mut Com| com.rest = "x".into()] {
        let judged = difference(true, |com| {
            set(com, WORKLOAD, Property::Nice, Value::Number(1));
            edit(com);
        });
        assert!(judged.is_err());
    }
}

// shows: STW-345
#[test]
fn a_path_is_no_option_and_an_option_no_path() {
    path("MemoryMax", Tier::Three);
    assert_eq!(path_rule("MemoryMax").why, "nothing is known about this path");
    for name in ["flake.lock", "authorized_keys", "secrets/x"] {
        assert_eq!(
            option_rule(name, "1", &unit(WORKLOAD)).why,
            "nothing is known about this option",
            "{name}"
        );
    }
    let text =
        good_with(&[("rationale", "no authorized_keys, .github/workflows/ or flake.lock is touched".into())]);
    check("words in prose", &judge_text(&text.to_string()), "cleared in tier One", "");
}

#[test]
fn a_path_that_can_be_read_in_two_ways_is_never_taken() {
    for name in [
        "../x",
        "a/../flake.nix",
        "/etc/passwd",
        "a//b",
        "./a",
        "a/.",
        "",
        "a\\b",
        "flake.nіx",
        "a b",
        "a%2fb",
    ] {
        path(name, Tier::Never);
    }
}

// shows: STW-298
#[test]
fn options_of_tier_one_apply_where_the_target_has_them() {
    let nix = "nix-daemon.service";
    for (service, option, old, new) in [
        (WORKLOAD, "MemoryMax", "1536M", "1792M"),
        (WORKLOAD, "MemoryHigh", "1280M", "1536M"),
        (WORKLOAD, "CPUQuota", "100%", "125%"),
        (WORKLOAD, "Nice", "0", "3"),
        (nix, "nix.settings.max-jobs", "2", "3"),
        (nix, "nix.settings.cores", "2", "1"),
    ] {
        check(
            option,
            &judge_text(&proposing(service, option, old, new).to_string()),
            "cleared in tier One",
            "",
        );
    }
    // A target of another kind does not state these options, and so does not have them.
    let without = com_with(|com| com.units.get_mut(&unit(nix)).unwrap().settings.clear());
    for option in ["nix.settings.max-jobs", "nix.settings.cores"] {
        let judged = judge_in(&without, &proposing(nix, option, "unset", "2").to_string());
        check(option, &judged, "refused by policy", "this target has no");
        let judged = judge_text(&proposing(WORKLOAD, option, "unset", "2").to_string());
        check(option, &judged, "refused by policy", "this target has no");
    }
}

// shows: STW-024
#[test]
fn a_unit_out_of_scope_is_refused_whatever_the_option() {
    let judged = judge_text(&proposing("other.service", "MemoryMax", "256M", "300M").to_string());
    check("other", &judged, "refused by policy", "not in scope");
}

#[test]
fn units_that_keep_a_target_reachable_are_known_without_being_configured() {
    for name in [
        "sshd.service",
        "sshd@1.service",
        "ssh.socket",
        "ssh@1.service",
        "NetworkManager.service",
        "networkmanager.service",
        "openvpn-client@home.service",
        "system-getty.slice",
        "user@1000.service",
        "tailscaled.service",
        "systemd-networkd.service",
        "system.slice",
        "steward-tripwire.service",
        "holdfast.service",
    ] {
        assert_eq!(listed_unit(&unit(name)).unwrap().tier, Tier::Three, "{name}");
    }
    assert_eq!(listed_unit(&unit(WORKLOAD)), None);
}

// shows: STW-167, STW-194
#[test]
fn what_needs_a_reboot_is_at_least_tier_two() {
    assert!(TABLE.iter().any(|rule| rule.reboot));
    for rule in TABLE.iter().filter(|rule| rule.reboot) {
        assert!(rule.effective_tier() >= Tier::Two, "{:?}", rule.subject);
    }
    let swap = |new| judge_text(&proposing(WORKLOAD, "swapDevices[].size", "2G", new).to_string());
    check("512M more", &swap("2560M"), "cleared in tier Two", "");
    check("more than 512M", &swap("2561M"), "refused by policy", "more than 512M");
}

#[test]
fn what_is_supervised_and_cannot_be_read_is_drafted() {
    for (option, new) in [
        ("services.openclaw.workers", "4"),
        ("AllowedCPUs", "0-1"),
        ("pins.ripgrep", "14.1.0"),
        ("imports", "modules/services/a.nix"),
    ] {
        let judged = judge_text(&proposing(WORKLOAD, option, "2", new).to_string());
        check(option, &judged, "draft", "a person has to set it");
    }
}

//! Plans, from policies and machines that are made up.

use std::collections::BTreeMap;
use std::ffi::OsString;

use proptest::prelude::*;

use super::*;
use crate::amount::Bytes;
use crate::host::Cgroup;
use crate::policy::Deed;
use crate::tree::Kind;

/// A machine's files, made up.
#[derive(Default)]
struct Made(BTreeMap<PathBuf, Entry>);

impl Tree for Made {
    fn look(&self, path: &Path) -> Entry {
        self.0.get(path).cloned().unwrap_or(Entry::Missing)
    }

    fn list(&self, folder: &Path) -> Option<Vec<(OsString, Kind)>> {
        let in_it = self.0.iter().filter(|(path, _)| path.parent() == Some(folder));
        let named = in_it.filter_map(|(path, entry)| {
            Some((
                path.file_name()?.to_owned(),
                match entry {
                    Entry::Folder => Kind::Folder,
                    Entry::Link(_) => Kind::Link,
                    Entry::File | Entry::Missing | Entry::Shut => Kind::File,
                },
            ))
        });
        Some(named.collect())
    }

    fn bytes(&self, _file: &Path) -> Option<Vec<u8>> {
        None
    }

    fn owner(&self, _path: &Path) -> Option<u32> {
        Some(1000)
    }

    fn names(&self, _file: &Path) -> u64 {
        1
    }

    fn inode(&self, _path: &Path) -> Option<u64> {
        None
    }

    fn changed(&self, _path: &Path) -> Option<i64> {
        None
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        Some(path.to_owned())
    }
}

/// As Debian is today.
fn debian() -> Made {
    let mut made = Made::default();
    for folder in ["/usr", "/etc/alternatives", "/etc/ssl", "/etc/ssl/private", "/srv/job"] {
        made.0.insert(folder.into(), Entry::Folder);
    }
    made.0.insert("/etc/ld.so.cache".into(), Entry::File);
    made.0.insert("/etc/localtime".into(), Entry::Link("/usr/share/zoneinfo/Etc/UTC".into()));
    for (link, to) in
        [("/bin", "usr/bin"), ("/sbin", "usr/sbin"), ("/lib", "usr/lib"), ("/lib64", "usr/lib64")]
    {
        made.0.insert(link.into(), Entry::Link(to.into()));
    }
    made
}

fn able() -> Host {
    Host {
        namespaces: true,
        namespaces_why: None,
        landlock: Some(7),
        seccomp: true,
        tells: true,
        cgroup: Some(Cgroup {
            parent: "/sys/fs/cgroup/x".into(),
            controllers: ["cpu", "memory", "pids"].map(str::to_owned).into(),
        }),
        kernel: "6.12".to_owned(),
    }
}

fn call() -> Call {
    Call {
        argv: vec!["make".to_owned()],
        work: "/srv/job".into(),
        identity: Identity { uid: 1000, gid: 1000 },
        environment: vec![
            ("LANG".to_owned(), "de_DE.UTF-8".to_owned()),
            ("AWS_SECRET".to_owned(), "x".to_owned()),
        ],
    }
}

fn plan(policy: &str) -> Plan {
    Plan::of(&Policy::named(policy).unwrap(), &call(), &able(), &debian()).unwrap()
}

#[test]
fn what_is_mounted_is_what_is_granted_shallow_before_deep() {
    let plan = plan("work");
    let depth = |mount: &Mount| match mount {
        Mount::Bind { at, .. }
        | Mount::Temporary { at, .. }
        | Mount::Hidden { at, .. }
        | Mount::Link { at, .. } => Some(at.components().count()),
        _ => None,
    };
    let depths: Vec<usize> = plan.mounts.iter().filter_map(depth).collect();
    assert!(depths.is_sorted(), "{depths:?}");
    let writable: Vec<&Path> = plan
        .mounts
        .iter()
        .filter_map(|mount| match mount {
            Mount::Bind { at, writable: true, .. } => Some(at.as_path()),
            _ => None,
        })
        .collect();
    assert_eq!(writable, [Path::new("/srv/job")]);
    assert!(plan.mounts.contains(&Mount::Link { at: "/bin".into(), to: "usr/bin".into() }));
    assert!(plan.mounts.contains(&Mount::Hidden { at: "/etc/ssl/private".into(), folder: true }));
    assert_eq!(plan.directory, Path::new("/srv/job"));
}

#[test]
fn the_second_fence_opens_no_more_than_the_view() {
    let plan = plan("work");
    let policy = Policy::named("work").unwrap();
    let places = Places::working_in(Path::new("/srv/job"));
    for opening in plan.openings.unwrap() {
        let of_the_cage = opening.path.starts_with("/etc")
            || opening.path.starts_with("/proc")
            || opening.path.starts_with("/dev");
        let below = opening.path.join("x");
        let deed = |make: fn(PathBuf) -> Deed| policy.permits(&make(below.clone()), &places);
        assert!(of_the_cage || deed(Deed::Read), "{opening:?}");
        assert!(!opening.write || opening.path.starts_with("/dev") || deed(Deed::Write), "{opening:?}");
        assert!(!opening.run || deed(Deed::Run), "{opening:?}");
    }
}

#[test]
fn nothing_of_the_callers_environment_is_passed_on_but_what_is_granted() {
    let seen = |policy: &str| plan(policy).environment;
    let work = seen("work");
    assert!(work.contains(&("LANG".to_owned(), "de_DE.UTF-8".to_owned())));
    assert!(work.iter().all(|(name, _)| name != "AWS_SECRET" && !name.to_lowercase().contains("proxy")));
    assert!(seen("model").contains(&("HTTPS_PROXY".to_owned(), "http://127.0.0.1:3128".to_owned())));
    assert_eq!(plan("model").net, Net::Own { listen: vec![PROXY_PORT] });
    assert_eq!(plan("work").net, Net::Own { listen: vec![] });
}

#[test]
fn limits_become_what_the_kernel_keeps_and_what_is_watched() {
    let with = plan("work");
    let group = with.group.unwrap();
    assert!(group.settings.contains(&("memory.max".to_owned(), (4u64 << 30).to_string())));
    assert!(
        group.settings.contains(&("pids.max".to_owned(), "513".to_owned())),
        "and the cage's first process"
    );
    assert!(group.settings.contains(&("cpu.max".to_owned(), "200000 100000".to_owned())));
    assert_eq!(with.watch.memory, None);
    let host = Host { cgroup: None, ..able() };
    let without = Plan::of(&Policy::named("work").unwrap(), &call(), &host, &debian()).unwrap();
    assert_eq!((without.group, without.watch.memory), (None, Some(4 << 30)));
    assert!(without.lacks.iter().any(|lack| lack.piece.contains("cgroup")));
    assert!(
        without.rlimits.contains(&(Resource::Processes, 512))
            && without.rlimits.contains(&(Resource::Core, 1))
    );
}

#[test]
fn what_the_machine_lacks_is_said_and_the_policy_decides() {
    let of = |host: Host, lacking: &str| {
        let text = format!("name = \"t\"\nwhy = \"t\"\nextends = \"work\"\n[lacking]\n{lacking}");
        Plan::of(&Policy::parse(&text).unwrap(), &call(), &host, &debian())
    };
    let pieces = |plan: Plan| plan.lacks.into_iter().map(|lack| lack.piece).collect::<Vec<_>>().join("; ");
    assert_eq!(pieces(of(able(), "").unwrap()), "");
    let no_landlock = Host { landlock: None, ..able() };
    assert_eq!(pieces(of(no_landlock.clone(), "").unwrap()), "Landlock");
    assert!(of(no_landlock.clone(), "").unwrap().openings.is_none());
    assert!(matches!(of(no_landlock, "landlock = \"refuse\""), Err(Refusal::Lacks { .. })));
    let no_filter = Host { seccomp: false, tells: false, ..able() };
    assert!(matches!(of(no_filter.clone(), ""), Err(Refusal::Lacks { .. })), "nothing stands in for it");
    assert!(of(no_filter, "seccomp = \"run\"").unwrap().filter.is_none());
    let quiet = Host { tells: false, ..able() };
    assert!(!of(quiet, "").unwrap().filter.unwrap().told);
    assert!(matches!(of(Host { cgroup: None, ..able() }, "cgroup = \"refuse\""), Err(Refusal::Lacks { .. })));
    let none = Host { namespaces: false, namespaces_why: Some("because".to_owned()), ..able() };
    let told = of(none, "seccomp = \"run\"").unwrap_err().to_string();
    assert!(told.contains("because"), "{told}");
}

#[test]
fn what_must_not_be_run_is_refused_before_anything_is_done() {
    let refused = |change: fn(&mut Call, &mut Policy, &mut Made)| {
        let (mut call, mut policy, mut made) = (call(), Policy::named("work").unwrap(), debian());
        change(&mut call, &mut policy, &mut made);
        Plan::of(&policy, &call, &able(), &made).unwrap_err()
    };
    assert_eq!(refused(|call, _, _| call.identity.uid = 0), Refusal::Root);
    assert_eq!(refused(|call, _, _| call.argv.clear()), Refusal::NoProgram);
    assert_eq!(
        refused(|call, _, _| call.argv.push("a\0b".to_owned())),
        Refusal::Unspeakable { what: "an argument or a variable".to_owned() }
    );
    for work in [
        "/",
        "/home",
        "/home/ana",
        "/root",
        "/etc",
        "/etc/ssl",
        "/proc/self",
        "/usr/lib",
        "/dev/shm",
        "/run/x",
    ] {
        let (call, policy) = (Call { work: work.into(), ..call() }, Policy::named("work").unwrap());
        let refusal = Plan::of(&policy, &call, &able(), &debian()).unwrap_err();
        assert!(matches!(refusal, Refusal::Work { .. }), "{work}: {refusal}");
    }
    assert!(matches!(refused(|_, _, made| drop(made.0.remove(Path::new("/usr")))), Refusal::Missing { .. }));
    let slashed = refused(|call, policy, _| {
        call.work = "/etc".into();
        policy
            .files
            .iter_mut()
            .filter(|grant| grant.path == "{work}")
            .for_each(|grant| grant.path = "{work}/".to_owned());
    });
    assert!(matches!(slashed, Refusal::Work { .. }), "{slashed}");
    // What is written to is so by its own name: a link could lead anywhere by the time it is followed.
    let linked = refused(|_, _, made| drop(made.0.insert("/srv/job".into(), Entry::Link("/etc".into()))));
    assert!(matches!(linked, Refusal::Missing { .. }));
}

#[test]
fn folders_above_what_is_protected_in_a_writable_one_are_pinned() {
    let text = "name = \"t\"\nwhy = \"t\"\nextends = \"work\"\n[[files]]\npath = \"{work}/a/b/keys\"\naccess = \"hidden\"\nwhy = \"t\"\nrefused = [\"read {work}/a/b/keys/k\"]\n";
    let mut made = debian();
    for folder in ["/srv/job/a", "/srv/job/a/b", "/srv/job/a/b/keys"] {
        made.0.insert(folder.into(), Entry::Folder);
    }
    let policy = Policy::parse(text).unwrap();
    let plan = Plan::of(&policy, &call(), &able(), &made).unwrap();
    let at: Vec<&str> = plan
        .mounts
        .iter()
        .filter_map(|mount| match mount {
            Mount::Bind { at, writable: true, .. } | Mount::Hidden { at, .. } => at.to_str(),
            _ => None,
        })
        .filter(|at| at.starts_with("/srv"))
        .collect();
    assert_eq!(at, ["/srv/job", "/srv/job/a", "/srv/job/a/b", "/srv/job/a/b/keys"]);
    made.0.remove(Path::new("/srv/job/a/b/keys"));
    assert!(matches!(Plan::of(&policy, &call(), &able(), &made), Err(Refusal::Missing { .. })));
}

#[test]
fn each_limit_needs_the_controller_that_keeps_it() {
    let only = |controllers: &[&str]| {
        let cgroup = Cgroup {
            parent: "/x".into(),
            controllers: controllers.iter().map(|c| (*c).to_owned()).collect(),
        };
        let host = Host { cgroup: Some(cgroup), ..able() };
        let plan = Plan::of(&Policy::named("work").unwrap(), &call(), &host, &debian()).unwrap();
        plan.lacks.into_iter().map(|lack| lack.means).collect::<String>()
    };
    assert_eq!(only(&["memory", "pids", "cpu"]), "");
    assert!(only(&["pids", "cpu"]).starts_with("memory is watched"));
    assert_eq!(only(&["memory", "pids"]), "processor time is not limited");
}

#[test]
fn a_layer_that_is_off_takes_with_it_what_cannot_be_without_it() {
    let off = |layer| plan("work").without(&[layer]).off.into_iter().collect::<Vec<_>>();
    assert_eq!(off(Layer::PidNamespace), [Layer::View, Layer::PidNamespace]);
    assert_eq!(off(Layer::NoNewPrivileges), [Layer::NoNewPrivileges, Layer::Landlock, Layer::Seccomp]);
    assert_eq!(plan("work").without(&[Layer::NetNamespace]).net, Net::Machine);
    assert!(plan("work").off.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// The launcher gets a plan as text and must read the same one.
    #[test]
    fn a_plan_is_the_same_after_it_was_sent(
        argv in prop::collection::vec("[^\0]{1,20}", 1..5),
        uid in 1u32..100_000,
        memory in 1u64..1 << 40,
        destinations in any::<bool>(),
    ) {
        let mut policy = Policy::named(if destinations { "model" } else { "work" }).unwrap();
        policy.limits.memory = Some(Bytes(memory));
        let call = Call { argv, identity: Identity { uid, gid: uid }, ..call() };
        let plan = Plan::of(&policy, &call, &able(), &debian()).unwrap();
        let sent: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        prop_assert_eq!(sent, plan);
    }
}

#[test]
fn the_most_that_can_be_said_is_a_limit_too() {
    let mut policy = Policy::named("work").unwrap();
    policy.limits.processes = Some(u32::MAX);
    policy.limits.memory = Some(Bytes(u64::MAX));
    let plan = Plan::of(&policy, &call(), &able(), &debian()).unwrap();
    let settings = plan.group.unwrap().settings;
    assert!(settings.contains(&("pids.max".to_owned(), "4294967296".to_owned())), "{settings:?}");
}

#[test]
fn one_place_that_is_granted_twice_is_granted_as_was_said_last() {
    let mut policy = Policy::named("work").unwrap();
    let by_hand = |path: &str, access| Files::by_hand(path.to_owned(), access, false, false, "the test's");
    policy.grant(by_hand("/srv/job/", Access::Read)).unwrap();
    let plan = Plan::of(&policy, &call(), &able(), &debian()).unwrap();
    let of_work = |opening: &Opening| (opening.path == Path::new("/srv/job")).then_some(opening.write);
    assert_eq!(plan.openings.unwrap().iter().filter_map(of_work).collect::<Vec<_>>(), [false]);
}

#[test]
fn a_variable_from_outside_is_as_it_is_there() {
    let mut call = call();
    call.environment = vec![("LANG".to_owned(), "{work}".to_owned())];
    let plan = Plan::of(&Policy::named("work").unwrap(), &call, &able(), &debian()).unwrap();
    assert!(plan.environment.contains(&("LANG".to_owned(), "{work}".to_owned())));
}

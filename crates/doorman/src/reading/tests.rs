//! Texts as machines print them, and what they come to.

use proptest::prelude::*;

use super::*;

const SHOWN: &str = "Id=web.service\nLoadState=loaded\nActiveState=active\nControlGroup=/system.slice/web.service\nMemoryCurrent=4096\n\
CPUUsageNSec=7000\nNRestarts=2\nActiveEnterTimestampMonotonic=55\n\nId=gone.service\nLoadState=not-found\nActiveState=inactive\nControlGroup=\n";
const PRESSURE: &str =
    "some avg10=1.50 avg60=2.50 avg300=3.50 total=9\nfull avg10=0.10 avg60=0.20 avg300=0.30 total=9\n";

fn units(names: &[&str]) -> Vec<UnitName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn texts() -> Texts {
    let group: [(&str, &str); 7] = [
        ("memory.current", "1048576\n"),
        ("memory.peak", "2097152\n"),
        ("memory.events", "low 0\nhigh 0\nmax 0\noom 1\noom_kill 3\n"),
        ("cpu.stat", "usage_usec 5000\nuser_usec 1\nnr_periods 9\nnr_throttled 4\nthrottled_usec 70\n"),
        ("memory.pressure", PRESSURE),
        ("cpu.pressure", PRESSURE),
        ("io.pressure", PRESSURE),
    ];
    let group = group.map(|(name, text)| (name.to_owned(), Ok(text.to_owned()))).into();
    Texts {
        boot: Ok("01234567-89ab-cdef-0123-456789abcdef\n".to_owned()),
        meminfo: Ok("MemTotal:  100 kB\nMemAvailable:   50 kB\nSwapTotal:  0 kB\n".to_owned()),
        load: Ok("0.52 0.40 0.30 1/100 999\n".to_owned()),
        processors: Ok("0-1,3\n".to_owned()),
        pressure: RESOURCES.map(|_| Ok(PRESSURE.to_owned())),
        free_space: Ok(77),
        units: Ok(SHOWN.to_owned()),
        groups: BTreeMap::from([("/system.slice/web.service".to_owned(), group)]),
        journal: Journal::Read("-- cursor: s=1\n".to_owned()),
    }
}

fn labels(of: &[(String, String)]) -> Vec<&str> {
    of.iter().map(|(label, _)| label.as_str()).collect()
}

// shows: STW-286
#[test]
fn everything_that_is_there_is_read() {
    let found = collected(&texts(), &units(&["web.service"]), None);
    assert_eq!((found.failed.clone(), found.absent.clone()), (Vec::new(), Vec::new()));
    assert_eq!(found.boot, Some(holdfast_lifeline::BootId(0x0123_4567_89ab_cdef)));
    assert_eq!(
        (found.memory_total, found.memory_available, found.swap_total),
        (Some(102_400), Some(51_200), Some(0))
    );
    assert_eq!((found.load, found.free_space, found.cursor.as_deref()), (Some(0.52), Some(77), Some("s=1")));
    assert_eq!(found.processors, Some(3));
    assert_eq!(found.pressure.len(), 6);
    let unit = UnitFigures {
        unit: "web.service".parse().unwrap(),
        active: true,
        memory: Some(1_048_576),
        memory_peak: Some(2_097_152),
        cpu_nanos: Some(5_000_000),
        throttled_micros: Some(70),
        periods: Some(9),
        periods_throttled: Some(4),
        nice: None,
        restarts: Some(2),
        kills: Some(3),
        started_micros: Some(55),
    };
    assert_eq!(found.units, [unit]);
}

// shows: STW-058
#[test]
fn a_read_that_fails_is_named_and_the_others_go_on() {
    let failed = || Err(Why::said("cat: x: Permission denied"));
    let wanted = units(&["web.service"]);
    type Break = fn(&mut Texts, Text);
    let breaks: [(&str, Break); 6] = [
        ("boot", |it, text| it.boot = text),
        ("memory", |it, text| it.meminfo = text),
        ("load", |it, text| it.load = text),
        ("pressure of cpu", |it, text| it.pressure[1] = text),
        ("units", |it, text| it.units = text),
        ("journal", |it, text| it.journal = Journal::Not(text.unwrap_err())),
    ];
    for (label, break_it) in breaks {
        let mut texts = texts();
        break_it(&mut texts, failed());
        let found = collected(&texts, &wanted, None);
        assert_eq!(labels(&found.failed), [label]);
        assert!(found.failed[0].1.contains("Permission denied"), "{found:?}");
        let values = [
            found.boot.is_some(),
            found.memory_total.is_some(),
            found.load.is_some(),
            found.pressure.iter().any(|it| it.unit.is_none() && it.resource == "cpu"),
            !found.units.is_empty(),
            found.cursor.is_some(),
            found.free_space.is_some(),
        ];
        assert_eq!(values.iter().filter(|it| **it).count(), 6, "{label}: one of seven is missing");
    }
}

// shows: STW-294
#[test]
fn pressure_that_is_not_measured_is_absent_and_no_zero() {
    for said in
        ["cat: /proc/pressure/memory: No such file or directory", "cat: read error: Operation not supported"]
    {
        let mut texts = texts();
        texts.pressure[0] = Err(Why::said(said));
        let found = collected(&texts, &[], None);
        assert_eq!((labels(&found.absent), found.failed.len()), (vec!["pressure of memory"], 0));
        assert!(!found.pressure.iter().any(|it| it.resource == "memory"));
    }
}

// shows: STW-375
#[test]
fn what_is_not_set_is_absent_with_a_reason() {
    for unset in ["[not set]", "[no data]", "infinity", "18446744073709551615", "", "-1", "12x"] {
        assert!(number_of(unset).is_err(), "{unset:?}");
        let mut texts = texts();
        texts.groups.clear();
        texts.units = Ok(SHOWN.replace("MemoryCurrent=4096", &format!("MemoryCurrent={unset}")));
        let found = collected(&texts, &units(&["web.service"]), None);
        assert_eq!((found.units[0].memory, found.units[0].cpu_nanos), (None, Some(7000)), "{unset:?}");
        assert_eq!((labels(&found.absent), found.failed.len()), (vec!["web.service memory"], 0), "{unset:?}");
    }
    assert_eq!(number_of("0"), Ok(0));
}

#[test]
fn a_unit_that_is_not_there_is_a_failure_and_one_that_does_not_run_is_none() {
    let found = collected(&texts(), &units(&["web.service", "gone.service", "odd.service"]), None);
    assert_eq!(labels(&found.failed), ["gone.service", "odd.service"]);
    let mut texts = texts();
    texts.units = Ok(SHOWN.replace("ActiveState=active", "ActiveState=inactive"));
    let found = collected(&texts, &units(&["web.service"]), None);
    assert_eq!((found.units[0].active, found.units[0].memory, found.units[0].kills), (false, None, None));
    assert_eq!((found.failed.len(), found.absent.len()), (0, 0));
}

#[test]
fn what_the_kernel_does_not_let_us_read_is_a_failure_unless_the_manager_says_it() {
    let mut texts = texts();
    let group = texts.groups.values_mut().next().unwrap();
    group.insert("memory.current".to_owned(), Err(Why::said("Permission denied")));
    let found = collected(&texts, &units(&["web.service"]), None);
    assert_eq!((found.units[0].memory, found.failed.len()), (Some(4096), 0));
    texts.units = Ok(SHOWN.replace("MemoryCurrent=4096", "MemoryCurrent=[not set]"));
    let found = collected(&texts, &units(&["web.service"]), None);
    assert_eq!((found.units[0].memory, labels(&found.failed)), (None, vec!["web.service memory"]));
}

fn line(n: usize, priority: u8) -> String {
    format!(
        r#"{{"__CURSOR":"s=1;i={n}","__REALTIME_TIMESTAMP":"{n}","PRIORITY":"{priority}","UNIT":"web.service","MESSAGE":"m{n}"}}"#
    )
}

fn read(text: &str, cursor: Option<&str>) -> Collected {
    collected(&Texts { journal: Journal::Read(text.to_owned()), ..texts() }, &[], cursor)
}

// shows: STW-056
#[test]
fn fifty_entries_are_kept_and_the_rest_is_counted() {
    let errors: String = (0..60).map(|n| line(n, 3) + "\n").collect();
    let quiet: String = (60..99).map(|n| line(n, 4) + "\n").collect();
    let found = read(&format!("{errors}{quiet}-- cursor: s=1;i=98\n"), None);
    assert_eq!((found.entries.len(), found.left_off), (50, 10));
    assert_eq!(found.cursor.as_deref(), Some("s=1;i=98"));
}

// shows: STW-294
#[test]
fn over_cycles_nothing_is_lost_and_nothing_comes_twice() {
    let all: Vec<String> = (0..100).map(|n| line(n, 3)).collect();
    let (mut cursor, mut seen) = ("s=1;i=0".to_owned(), Vec::new());
    for until in [1, 20, 20, 49, 98, 99, 99] {
        // As the journal prints it: from the cursor on, that entry included.
        let at: usize = cursor.rsplit('=').next().unwrap().parse().unwrap();
        let text = all[at..=until].join("\n") + &format!("\n-- cursor: s=1;i={until}\n");
        let found = read(&text, Some(&cursor));
        assert_eq!(found.failed, []);
        seen.extend(found.entries.iter().map(|it| it.at_micros));
        cursor = found.cursor.unwrap();
    }
    assert_eq!(seen, (1..100).collect::<Vec<u64>>());
}

#[test]
fn what_was_cut_off_is_read_on_from_its_last_whole_entry() {
    let whole = format!("{}\n{}\n{}\n", line(3, 3), line(4, 3), line(5, 3));
    for cut in [whole.clone(), format!("{whole}{}", &line(6, 3)[..60])] {
        let found = read(&cut, Some("s=1;i=3"));
        assert_eq!(found.entries.iter().map(|it| it.at_micros).collect::<Vec<_>>(), [4, 5]);
        assert_eq!((found.cursor.as_deref(), found.failed.len()), (Some("s=1;i=5"), 0));
    }
}

#[test]
fn pressure_of_a_unit_that_cannot_be_read_is_named_and_no_zero() {
    let wanted = units(&["web.service"]);
    for (said, is_absent) in [("No such file or directory", true), ("Permission denied", false)] {
        let mut texts = texts();
        let group = texts.groups.values_mut().next().unwrap();
        group.insert("io.pressure".to_owned(), Err(Why::said(said)));
        let found = collected(&texts, &wanted, None);
        let (named, other) =
            if is_absent { (&found.absent, &found.failed) } else { (&found.failed, &found.absent) };
        assert_eq!((labels(named), other.len()), (vec!["web.service pressure of io"], 0), "{said}");
        assert!(!found.pressure.iter().any(|it| it.unit.is_some() && it.resource == "io"));
    }
}

#[test]
fn a_cursor_that_is_gone_is_said_and_it_goes_on() {
    let text = format!("{}\n{}\n-- cursor: s=1;i=8\n", line(7, 3), line(8, 3));
    let found = read(&text, Some("s=1;i=3"));
    assert_eq!((labels(&found.failed), found.entries.len()), (vec!["journal"], 2));
    assert_eq!(found.cursor.as_deref(), Some("s=1;i=8"));
    let anew = Journal::Anew { why: "odd".to_owned(), stands: "-- cursor: s=2;i=1\n".to_owned() };
    let found = collected(&Texts { journal: anew, ..texts() }, &[], Some("s=1;i=3"));
    assert_eq!((labels(&found.failed), found.cursor.as_deref()), (vec!["journal"], Some("s=2;i=1")));
    // What could not be read at all is read from the same place the next time.
    let not = Journal::Not(Why::said("no"));
    let found = collected(&Texts { journal: not, ..texts() }, &[], Some("s=1;i=3"));
    assert_eq!(found.cursor.as_deref(), Some("s=1;i=3"));
}

#[test]
fn a_line_of_the_journal_is_read_and_a_kill_is_known_by_its_id_or_by_the_kernel_s_word() {
    let line = r#"{"__REALTIME_TIMESTAMP":"1700000000000000","PRIORITY":"4","UNIT":"web.service","MESSAGE":"\u001b[31mA process","MESSAGE_ID":"fe6faa94e7774663a0da52717891d8ef"}"#;
    let found = entry(line).unwrap();
    assert!(found.out_of_memory && found.unit == "web.service" && !found.message.contains('\u{1b}'));
    let kernel = r#"{"__REALTIME_TIMESTAMP":"1","PRIORITY":"3","_TRANSPORT":"kernel","MESSAGE":"Memory cgroup out of memory: Out of memory: Killed process 9"}"#;
    assert!(entry(kernel).unwrap().out_of_memory);
    assert!(!entry(&kernel.replace("kernel", "journal")).unwrap().out_of_memory);
    let bytes = r#"{"__REALTIME_TIMESTAMP":"1","PRIORITY":"3","MESSAGE":[104,105,255,27]}"#;
    assert_eq!(entry(bytes).unwrap().message, "hi\u{fffd}\\u{1b}");
    for odd in ["", "{}", "[]", r#"{"PRIORITY":3}"#, "not json"] {
        assert_eq!(entry(odd), None, "{odd}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_it_and_no_figure_is_invented(noise in "\\PC{0,200}|(some|MemTotal:|Id=|-- cursor: )[ -~\\n]{0,80}") {
        let text = || Ok(noise.clone());
        let texts = Texts {
            boot: text(),
            meminfo: text(),
            load: text(),
            processors: text(),
            pressure: RESOURCES.map(|_| text()),
            free_space: Err(Why::Absent(String::new())),
            units: text(),
            groups: BTreeMap::new(),
            journal: Journal::Read(noise.clone()),
        };
        let found = collected(&texts, &units(&["web.service"]), None);
        prop_assert!(found.free_space.is_none());
        prop_assert!(found.pressure.iter().all(|it| it.some.iter().all(|value| value.is_finite())));
        prop_assert!(found.cursor.as_deref().is_none_or(crate::wire::is_cursor));
    }
}

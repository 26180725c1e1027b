//! What the steward has set, as files and as an identity.

use proptest::prelude::*;

use super::*;

fn setting(unit: &str, property: Property) -> Setting {
    Setting { unit: unit.parse().unwrap(), property }
}

const MEMORY: u64 = 512 << 20;

// shows: STW-266, STW-271
#[test]
fn a_setting_is_one_drop_in_with_one_section_and_one_assignment() {
    let table = [
        ("web.service", Property::MemoryMax, Value::Bytes(MEMORY), "[Service]\nMemoryMax=536870912\n"),
        ("web.service", Property::MemoryHigh, Value::Infinity, "[Service]\nMemoryHigh=infinity\n"),
        ("web.service", Property::CpuQuota, Value::Percent(150), "[Service]\nCPUQuota=150%\n"),
        ("web.service", Property::CpuQuota, Value::Infinity, "[Service]\nCPUQuota=\n"),
        ("web.service", Property::Nice, Value::Number(-5), "[Service]\nNice=-5\n"),
        ("big.slice", Property::MemoryMax, Value::Bytes(MEMORY), "[Slice]\nMemoryMax=536870912\n"),
    ];
    for (unit, property, value, ends) in table {
        let setting = setting(unit, property);
        let text = text_of(&setting, value).unwrap();
        assert!(text.ends_with(ends) && text.starts_with("# Written by holdfast"), "{text}");
        assert_eq!(value_in(&setting, &text), Some(value), "{text}");
        let (folder, file) = file_of(&setting, KEPT_PREFIX);
        assert_eq!(setting_of(&folder, &file, KEPT_PREFIX), Some(setting.clone()));
        assert_eq!(setting_of(&folder, &file, TRIAL_PREFIX), None);
    }
}

// shows: STW-127, STW-270
#[test]
fn what_is_not_ours_to_write_is_refused() {
    let other: Property = "ExecStart".parse().unwrap();
    for (unit, property, value) in [
        ("web.service", other, Value::Number(1)),
        ("web.service", Property::Cores, Value::Number(1)),
        ("web.service", Property::MemoryMax, Value::Percent(5)),
        ("web.service", Property::MemoryMax, Value::Bytes(0)),
        ("web.service", Property::MemoryMax, Value::Unset),
        ("web.service", Property::CpuQuota, Value::Percent(0)),
        ("web.service", Property::Nice, Value::Number(20)),
        ("web.timer", Property::MemoryMax, Value::Bytes(MEMORY)),
        ("big.slice", Property::Nice, Value::Number(1)),
    ] {
        let setting = setting(unit, property);
        assert!(text_of(&setting, value).is_err(), "{setting} {value}");
        assert!(Layer::try_from(vec![(setting, value)]).is_err());
    }
}

#[test]
fn a_file_that_somebody_edited_is_not_taken_for_ours() {
    let setting = setting("web.service", Property::MemoryMax);
    let text = text_of(&setting, Value::Bytes(MEMORY)).unwrap();
    for edited in [
        text.replace("536870912", "512M"),
        text.replace("[Service]", "[Service]\nExecStart=/bin/true"),
        format!("{text}MemoryMax=1\n"),
        text.replace("MemoryMax", "MemoryHigh"),
        String::new(),
    ] {
        assert_eq!(value_in(&setting, &edited), None, "{edited}");
    }
}

#[test]
fn a_change_back_to_what_people_wrote_takes_our_word_away() {
    let setting = setting("web.service", Property::MemoryMax);
    let people = |_: &Setting| Value::Bytes(MEMORY);
    let change = |from: u64, to: u64| {
        vec![Change { setting: setting.clone(), from: Value::Bytes(from), to: Value::Bytes(to) }]
    };
    let raised = Layer::default().with(&change(MEMORY, 2 * MEMORY), people).unwrap();
    assert_eq!(raised.get(&setting), Some(Value::Bytes(2 * MEMORY)));
    assert_eq!(Layer::default().differences(&raised), std::slice::from_ref(&setting));
    let back = raised.with(&change(2 * MEMORY, MEMORY), people).unwrap();
    assert_eq!(back, Layer::default());
    assert_eq!(back.identity(), Layer::default().identity());
    assert_ne!(raised.identity(), back.identity());
}

proptest! {
    // shows: STW-269
    #[test]
    fn no_name_of_a_file_leads_out_of_its_folder(folder in "\\PC{0,40}", file in "\\PC{0,60}") {
        if let Some(setting) = setting_of(&folder, &file, KEPT_PREFIX) {
            prop_assert_eq!(file_of(&setting, KEPT_PREFIX), (folder.clone(), file.clone()));
            prop_assert!(!folder.contains('/') && !file.contains('/') && !folder.starts_with('.'));
        }
    }
}

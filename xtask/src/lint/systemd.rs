//! What systemd reads: units, and the lines of `sysusers.d` and `tmpfiles.d`.
//!
//! The shape is checked here, so that it is checked on every machine; what the keys mean is asked of
//! `systemd-analyze` where it is installed.

use super::Found;
use super::tool::{Answer, Tools};

const ANALYZE: &str = "systemd-analyze";

/// Sections in brackets, `Key=value` below them, lines that end in a backslash go on.
pub(super) fn unit(text: &str) -> Vec<Found> {
    let mut found = Vec::new();
    let (mut in_section, mut goes_on) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let is_comment = line.is_empty() || line.starts_with(['#', ';']);
        if !goes_on && !is_comment {
            found.extend(unit_line(line, in_section).map(|what| (index + 1, what.to_owned())));
            in_section |= line.starts_with('[');
        }
        if !is_comment {
            found.extend(in_a_users_folder(line).map(|what| (index + 1, what)));
        }
        goes_on = line.ends_with('\\') && !is_comment;
    }
    if goes_on {
        found.push((text.lines().count(), "the last line says that it goes on".to_owned()));
    }
    found
}

fn unit_line(line: &str, in_section: bool) -> Option<&'static str> {
    if let Some(section) = line.strip_prefix('[') {
        let good = section.strip_suffix(']').is_some_and(is_word);
        return (!good).then_some("not a section: a word in brackets");
    }
    match line.split_once('=') {
        Some((key, _)) if !is_word(key) => Some("the key before `=` is not a word"),
        Some(_) if !in_section => Some("a key before the first section"),
        Some(_) => None,
        None => Some("neither a section, a key with a value, nor a comment"),
    }
}

/// Folders that a user of ours may change, who is not root.
const USERS_FOLDERS: [&str; 8] = [
    "/etc/holdfast",
    "/run/holdfast",
    "/run/holdfast-egress",
    "/run/holdfast-tripwire",
    "/var/lib/holdfast",
    "/var/lib/holdfast-egress",
    "/var/lib/holdfast-tripwire",
    "/var/lib/holdfast-windows",
];
/// How units write the beginnings of those.
const SPECIFIERS: [(&str, &str); 3] = [("%E", "/etc"), ("%S", "/var/lib"), ("%t", "/run")];

/// What lies in such a folder is replaced by that user at will: with a link to itself, say, and the unit that names it does not start any more.
/// The folder itself lies in one of root's.
fn in_a_users_folder(line: &str) -> Option<String> {
    let line = SPECIFIERS.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
    let words = line.split(|c: char| c.is_whitespace() || "=:,;\"'".contains(c));
    let mut paths = words.filter_map(|word| Some(plain(&word[word.find('/')?..])));
    let path = paths.find(|path| {
        USERS_FOLDERS.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
    })?;
    Some(format!(
        "{path} lies in a folder that a user other than root may change: name the folder, or nothing"
    ))
}

/// Without doubled slashes and dots. A path that goes up is kept as it is written.
fn plain(path: &str) -> String {
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    parts.fold(String::new(), |path, part| path + "/" + part)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// `systemd-analyze verify` knows every key and its values.
pub(super) fn verify(path: &str, tools: &mut Tools) -> anyhow::Result<Vec<Found>> {
    let args = ["verify", "--man=no", "--recursive-errors=no", "--", path];
    let Answer::Bad(output) = tools.ask(ANALYZE, &args)? else {
        return Ok(Vec::new());
    };
    // In some containers it cannot even begin.
    if !output.contains(name(path)) {
        tools.cannot_work(ANALYZE);
    }
    Ok(complaints(path, &output))
}

/// Lines such as `/a/b.service:7: Unknown key 'X' in section [Service], ignoring.` and `b.service: Command ...`.
/// It speaks of other units of the machine as well, and of a program that is not installed where we build.
fn complaints(path: &str, output: &str) -> Vec<Found> {
    let after_name =
        |line| -> Option<&str> { Some(str::split_once(line, name(path))?.1.strip_prefix(':')?.trim()) };
    let ours = output.lines().filter_map(after_name);
    let mut found: Vec<Found> = ours.filter(|told| !is_about_this_machine(told)).map(complaint).collect();
    found.dedup();
    found
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn is_about_this_machine(told: &str) -> bool {
    told.starts_with("Command /") && told.contains("is not executable: No such file or directory")
}

fn complaint(told: &str) -> Found {
    let placed = told.split_once(':').and_then(|(line, what)| Some((line.parse().ok()?, what.trim())));
    let (line, what) = placed.unwrap_or((1, told));
    (line, format!("systemd-analyze: {what}"))
}

/// `type name id ["who"] [home] [shell]`.
pub(super) fn users(text: &str) -> Vec<Found> {
    each_line(text, |fields| match fields {
        [kind, ..] if !["u", "g", "m", "r"].contains(&kind.as_str()) => {
            Some("the type is none of u, g, m, r")
        }
        [_, name, _, ..] if !is_user_name(name) => Some("not a name a user can have"),
        [_, _, _] | [_, _, _, _] | [_, _, _, _, _] | [_, _, _, _, _, _] => None,
        _ => Some("a type, a name and an id are wanted, and at most three fields more"),
    })
}

fn is_user_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name.len() <= 31
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}

/// `type path mode user group [age] [argument]`. An argument may hold spaces.
pub(super) fn places(text: &str) -> Vec<Found> {
    each_line(text, |fields| match fields {
        [kind, ..] if !is_place_type(kind) => Some("not a type systemd-tmpfiles knows"),
        [_, path, ..] if !path.starts_with('/') => Some("the path is not absolute"),
        [_, path, ..] if in_a_users_folder(path).is_some() => {
            Some("the path lies in a folder that a user other than root may change")
        }
        [_, _, mode, _, _, ..] if !is_mode(mode) => Some("the mode is neither octal nor `-`"),
        [_, _, _, _, _, ..] => None,
        _ => Some("a type, a path, a mode, a user and a group are wanted"),
    })
}

fn is_place_type(kind: &str) -> bool {
    let mut letters = kind.chars();
    letters.next().is_some_and(|c| "fwdDevqQpLcbCxXrRzZtThHaA".contains(c))
        && letters.all(|c| "+!-=~^?$".contains(c))
}

fn is_mode(mode: &str) -> bool {
    let octal = mode.trim_start_matches(['~', ':']);
    mode == "-" || ((3..=4).contains(&octal.len()) && octal.chars().all(|c| c.is_digit(8)))
}

/// Asks about each line that is no comment, as fields.
fn each_line(text: &str, ask: impl Fn(&[String]) -> Option<&'static str>) -> Vec<Found> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let told = lines.filter_map(|(index, line)| {
        let what = fields(line).map_or(Some("a quote is not closed"), |fields| ask(&fields))?;
        Some((index + 1, what.to_owned()))
    });
    told.collect()
}

/// Words between spaces; a part in double quotes may hold spaces. `None` when a quote is not closed.
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let (mut field, mut quoted, mut begun) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            '"' => (quoted, begun) = (!quoted, true),
            c if c.is_whitespace() && !quoted => {
                if std::mem::take(&mut begun) {
                    fields.push(std::mem::take(&mut field));
                }
            }
            c => {
                field.push(c);
                begun = true;
            }
        }
    }
    if begun {
        fields.push(field);
    }
    (!quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(validator: fn(&str) -> Vec<Found>, text: &str, expected: &[(usize, &str)]) {
        let found = validator(text);
        let told: Vec<_> = found.iter().map(|(line, what)| (*line, what.as_str())).collect();
        assert_eq!(told, expected, "{text}");
    }

    #[test]
    fn a_unit_is_sections_with_keys() {
        check(
            unit,
            "# why\n[Unit]\nDescription=a = b\n\n[Service]\nExecStart=/bin/a \\\n  b c\nX-Own=\n",
            &[],
        );
        check(unit, "A=1\n[Unit]\n", &[(1, "a key before the first section")]);
        check(unit, "[Unit\n", &[(1, "not a section: a word in brackets")]);
        check(unit, "[Unit]\nA B=1\n", &[(2, "the key before `=` is not a word")]);
        check(unit, "[Unit]\nhello\n", &[(2, "neither a section, a key with a value, nor a comment")]);
        check(unit, "[Unit]\nA=b \\\n", &[(2, "the last line says that it goes on")]);
    }

    #[test]
    fn root_names_nothing_in_a_folder_that_another_user_may_change() {
        for (line, path) in [
            ("InaccessiblePaths=-/etc/holdfast/keys -/run/holdfast", "/etc/holdfast/keys"),
            ("InaccessiblePaths=-/run/holdfast -/var/lib/holdfast/journal", "/var/lib/holdfast/journal"),
            ("BindReadOnlyPaths=/etc/holdfast/config.yaml:/srv/config.yaml", "/etc/holdfast/config.yaml"),
            ("EnvironmentFile=-//etc/./holdfast//environment", "/etc/holdfast/environment"),
            ("ReadWritePaths=\"/var/lib/holdfast-windows/box-1\"", "/var/lib/holdfast-windows/box-1"),
            ("ConditionPathExists=!%S/holdfast/made.json", "/var/lib/holdfast/made.json"),
            ("StandardOutput=append:%t/holdfast/log", "/run/holdfast/log"),
            ("ReadWritePaths=+/etc/holdfast/../shadow", "/etc/holdfast/../shadow"),
        ] {
            let what = format!(
                "{path} lies in a folder that a user other than root may change: name the folder, or nothing"
            );
            check(unit, &format!("[Service]\n{line}\n"), &[(2, &what)]);
            check(
                unit,
                &format!("[Service]\nReadOnlyPaths=/srv \\\n  {}\n", &line[line.find('=').unwrap() + 1..]),
                &[(3, &what)],
            );
        }
        check(unit, "[Service]\nReadWritePaths=/etc/holdfast -/run/holdfast\n# /etc/holdfast/keys\n", &[]);
        check(unit, "[Unit]\nConditionPathExists=/etc/holdfast-tripwire/tripwire.json\n", &[]);
        check(
            places,
            "d /etc/holdfast/keys 0700 holdfast holdfast -\n",
            &[(1, "the path lies in a folder that a user other than root may change")],
        );
    }

    #[test]
    fn systemd_is_asked_about_keys() {
        let dir = std::env::temp_dir().join(format!("xtask-systemd-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let good = "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/no-such-program-here\n";
        std::fs::write(dir.join("good.service"), good).unwrap();
        std::fs::write(dir.join("bad.service"), format!("{good}WatchdogSecond=3\n")).unwrap();
        let mut tools = Tools::new(&dir);
        assert_eq!(
            verify("good.service", &mut tools).unwrap(),
            [],
            "a program that is not built yet is no fault"
        );
        let bad = verify("bad.service", &mut tools).unwrap();
        assert_eq!(bad.is_empty(), tools.missing().count() == 1, "a finding, unless there is no systemd");
        assert!(bad.iter().all(|(line, _)| *line == 5), "{bad:?}");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn what_systemd_says_of_other_units_is_left_out() {
        let output = "\
/etc/systemd/system/other.service:3: Unknown key 'A' in section [Unit], ignoring.
/p/a.service:7: Invalid memory limit 'abc', ignoring: Invalid argument
a.service: Command /usr/bin/a is not executable: No such file or directory
a.service: Service has no ExecStart= setting. Refusing.
a.service: Service has no ExecStart= setting. Refusing.
";
        let expected = [
            (7, "systemd-analyze: Invalid memory limit 'abc', ignoring: Invalid argument".to_owned()),
            (1, "systemd-analyze: Service has no ExecStart= setting. Refusing.".to_owned()),
        ];
        assert_eq!(complaints("p/a.service", output), expected);
    }

    #[test]
    fn users_have_a_type_a_name_and_an_id() {
        check(users, "# why\nu holdfast - \"The keeper\" /var/lib/holdfast\ng other 404\n", &[]);
        check(users, "x holdfast -\n", &[(1, "the type is none of u, g, m, r")]);
        check(users, "u Hold -\n", &[(1, "not a name a user can have")]);
        check(
            users,
            "u holdfast\n",
            &[(1, "a type, a name and an id are wanted, and at most three fields more")],
        );
        check(users, "u holdfast - \"The\n", &[(1, "a quote is not closed")]);
    }

    #[test]
    fn places_have_a_type_a_path_a_mode_and_an_owner() {
        check(places, "d /etc/a 0750 a a -\nL+ /b - - - - a b c\n", &[]);
        check(places, "k /etc/a 0750 a a\n", &[(1, "not a type systemd-tmpfiles knows")]);
        check(places, "d etc/a 0750 a a\n", &[(1, "the path is not absolute")]);
        check(places, "d /etc/a rwx a a\n", &[(1, "the mode is neither octal nor `-`")]);
        check(places, "d /etc/a 0750\n", &[(1, "a type, a path, a mode, a user and a group are wanted")]);
    }
}

//! The raw form in which git lists changes, separated by NUL: `:mode mode id id status`, a path, and for a renamed file
//! the new path. Read without a guess: what does not fit is an error, never a file that is passed over.

/// One changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Where it stands now.
    pub(crate) path: Vec<u8>,
    pub(crate) now: State,
    /// What stood there before, or where it was renamed from; one for each parent.
    pub(crate) before: Vec<String>,
}

/// What a path holds after the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A file, or a link whose content is where it leads.
    Blob(String),
    Gone,
    Submodule,
    Unmerged,
}

/// A line of `git diff-tree --stdin`: the commit that the changes after it belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Commit(String),
    Change(Change),
}

/// Reads items off a stream of fields.
#[derive(Debug)]
pub(crate) struct Items<I>(pub(crate) I);

/// Git said something that is no list of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotAList;

impl<I: Iterator<Item = Vec<u8>>> Iterator for Items<I> {
    type Item = Result<Item, NotAList>;

    fn next(&mut self) -> Option<Self::Item> {
        let field = self.0.next()?;
        Some(match field.first() {
            Some(b':') => self.change(&field).map(Item::Change).ok_or(NotAList),
            Some(_) if is_id(field.trim_ascii()) => Ok(Item::Commit(text(field.trim_ascii()))),
            _ => Err(NotAList),
        })
    }
}

impl<I: Iterator<Item = Vec<u8>>> Items<I> {
    fn change(&mut self, field: &[u8]) -> Option<Change> {
        let parents = field.iter().take_while(|byte| **byte == b':').count();
        let words: Vec<&[u8]> = field[parents..].split(|byte| *byte == b' ').collect();
        // A mode and an id for each parent and for the result, then the status.
        if words.len() != 2 * (parents + 1) + 1 {
            return None;
        }
        let (modes, rest) = words.split_at(parents + 1);
        let (ids, status) = rest.split_at(parents + 1);
        if !ids.iter().all(|id| is_id(id)) {
            return None;
        }
        let status = status.first()?.first()?;
        let mut path = self.0.next()?;
        if parents == 1 && matches!(status, b'R' | b'C') {
            path = self.0.next()?;
        }
        let (mode, id) = (modes.last()?, ids.last()?);
        let now = match *mode {
            _ if *status == b'U' => State::Unmerged,
            b"160000" => State::Submodule,
            b"000000" => State::Gone,
            _ => State::Blob(text(id)),
        };
        let files =
            modes.iter().zip(ids).take(parents).filter(|(mode, _)| !matches!(**mode, b"000000" | b"160000"));
        let before = files.map(|(_, id)| text(id)).collect();
        Some(Change { path, now, before })
    }
}

fn is_id(bytes: &[u8]) -> bool {
    matches!(bytes.len(), 40 | 64) && bytes.iter().all(u8::is_ascii_hexdigit)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "78981922613b2afb6025042ff6bd878ac1994e85";
    const B: &str = "61780798228d17af2d34fce4cfbdf35556832472";
    const NONE: &str = "0000000000000000000000000000000000000000";

    fn items(text: &str) -> Vec<Result<Item, NotAList>> {
        Items(text.split_terminator('@').map(|field| field.as_bytes().to_vec())).collect()
    }

    fn change(path: &str, now: State, before: &[&str]) -> Result<Item, NotAList> {
        let before = before.iter().map(|id| (*id).to_owned()).collect();
        Ok(Item::Change(Change { path: path.into(), now, before }))
    }

    #[test]
    fn every_kind_of_change_is_read() {
        let blob = |id: &str| State::Blob(id.to_owned());
        let listed = format!(
            "{A}@:000000 100644 {NONE} {A} A@new\n\"@:100644 000000 {A} {NONE} D@gone@:100644 100755 {A} {B} R090@old@moved@\
             :000000 160000 {NONE} {A} A@sub@:100644 000000 {A} {NONE} U@torn@:000000 120000 {NONE} {B} A@link@\
             ::000000 100644 100644 {NONE} {A} {B} AM@merged@"
        );
        let expected = [
            Ok(Item::Commit(A.to_owned())),
            change("new\n\"", blob(A), &[]),
            change("gone", State::Gone, &[A]),
            change("moved", blob(B), &[A]),
            change("sub", State::Submodule, &[]),
            change("torn", State::Unmerged, &[A]),
            change("link", blob(B), &[]),
            change("merged", blob(B), &[A]),
        ];
        assert_eq!(items(&listed), expected);
    }

    #[test]
    fn what_does_not_fit_is_an_error_and_no_file_is_passed_over() {
        for wrong in
            ["x@", ":100644 A@p@", &format!(":000000 100644 {NONE} {A} A@"), &format!(":0 1 2 {A} A@p@")]
        {
            assert!(items(wrong).contains(&Err(NotAList)), "{wrong}");
        }
    }
}

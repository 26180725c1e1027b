//! What a database is: its name, its number, its migrations, and whether it can be made again.

/// What becomes of a database that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// It is the only place that knows: synced at every commit, backed up before a migration, never set aside.
    Own,
    /// The journal has everything in it: made again when in doubt.
    Projection,
}

/// One step forward. Once released, its text never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// From 1, without gaps. It becomes the file's `user_version`.
    pub number: u32,
    pub name: &'static str,
    /// Run in one transaction with foreign keys unchecked; they are checked before the commit.
    pub sql: &'static str,
}

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// Names the database inside the file, so that another one under its file name is refused.
    pub name: &'static str,
    /// SQLite's `application_id`: four letters, so that `file` and a hex dump tell it too.
    pub application_id: i32,
    pub migrations: &'static [Migration],
    pub truth: Truth,
}

impl Schema {
    /// The version this program makes and the newest one it reads.
    pub fn version(&self) -> u32 {
        self.migrations.last().map_or(0, |m| m.number)
    }

    /// A gap or a repeated number is a mistake in the program, found by the first test that opens the database.
    pub(crate) fn assert_sound(&self) {
        let numbers = self.migrations.iter().map(|m| m.number);
        assert!(numbers.eq(1..=self.version()), "the migrations of {} are not numbered 1, 2, 3 …", self.name);
        assert!(self.version() > 0, "{} has no migration", self.name);
    }
}

impl Migration {
    /// What the `migrations` table remembers of the text that was run.
    pub(crate) fn digest(&self) -> String {
        holdfast_types::Digest::blake3(*blake3::hash(self.sql.as_bytes()).as_bytes()).to_string()
    }
}

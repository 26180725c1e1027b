//! Secrets that are arguments of calls or stand in comparisons.

use super::*;

impl Reader<'_> {
    /// `token == "…"`: what a program compares a secret with is the secret, if it looks like one.
    pub(super) fn compared(&self, at: usize) -> Option<Assigned> {
        let equals = self.text[at..].iter().take(3).take_while(|b| matches!(b, b'=' | b'!')).count();
        let found = self.quoted(self.skip_blanks(at + equals))?;
        let look = crate::judge::Look::at(&self.text[found.value.clone()]);
        (found.value.len() >= 16 && look.is_random(4.5)).then_some(found)
    }

    /// The argument of a call that is a secret: `login("ann", "…")`.
    pub(super) fn call(&self, at: usize) -> Option<Assigned> {
        const CALLS: &[(&str, usize)] = &[
            ("networkcredential", 1),
            ("setbasicauth", 1),
            ("basic_auth", 1),
            ("basicauth", 1),
            ("httpbasicauth", 1),
            ("basicauthentication", 1),
            ("usernamepasswordcredentials", 1),
            ("passwordauthentication", 1),
            ("getconnection", 2),
            ("connect", 2),
            ("mysqli_connect", 2),
            ("mysqli", 2),
            ("mysql_connect", 2),
            ("pdo", 2),
            ("pg_connect", 0),
            ("bearer_auth", 0),
            ("bearerauth", 0),
            ("bearer", 0),
            ("jwt.sign", 1),
            ("jwt.encode", 1),
            ("jwt.verify", 1),
            ("login", 1),
            ("smtp.login", 1),
            ("ftp.login", 1),
            ("auth", 1),
            ("basicawscredentials", 1),
            ("newstaticcredentials", 1),
            ("newstaticcredentialsprovider", 1),
            ("awsbasiccredentials.create", 1),
            ("azurekeycredential", 0),
            ("setpassword", 0),
            ("withpassword", 0),
            ("password", 0),
            ("setsecret", 0),
            ("settoken", 0),
            ("setapikey", 0),
            ("createhmac", 1),
            ("plainauth", 2),
            ("identified", 0),
        ];
        let name = self.text[self.name.clone()].to_ascii_lowercase();
        let fits = |call: &str| {
            name == call.as_bytes()
                || (name.ends_with(call.as_bytes())
                    && matches!(name[name.len() - call.len() - 1], b'.' | b'_' | b'>'))
        };
        let number = CALLS.iter().filter(|(call, _)| fits(call)).max_by_key(|(call, _)| call.len())?.1;
        let mut at = at + 1;
        for _ in 0..number {
            at = self.next_argument(at)?;
        }
        let at = self.skip_space(at);
        if at > self.name.end + REACH {
            return None;
        }
        self.quoted(at)
    }

    /// Past the comma that ends the argument at a place.
    pub(super) fn next_argument(&self, at: usize) -> Option<usize> {
        let mut quote = None;
        let mut depth = 0;
        for (i, byte) in self.text[at.min(self.text.len())..].iter().take(REACH).enumerate() {
            match (quote, byte) {
                (Some(q), b) if *b == q => quote = None,
                (Some(_), _) => {}
                (None, b) if is_quote(*b) => quote = Some(*b),
                (None, b'(' | b'[' | b'{') => depth += 1,
                (None, b')' | b']' | b'}') if depth == 0 => return None,
                (None, b')' | b']' | b'}') => depth -= 1,
                (None, b',') if depth == 0 => return Some(at + i + 1),
                _ => {}
            }
        }
        None
    }
}

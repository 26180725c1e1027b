//! Values in elements, attributes and blocks.

use super::*;

impl Reader<'_> {
    /// `variable "db_password" { default = "…" }`.
    pub(super) fn block_default(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at..self.text.len().min(at + REACH)];
        let end = rest.iter().position(|b| *b == b'}').unwrap_or(rest.len());
        let default = memchr::memmem::find(&rest[..end], b"default")? + 7;
        let equals = self.skip_blanks(at + default);
        if self.byte(equals) == b'=' { self.quoted(self.skip_blanks(equals + 1)) } else { None }
    }

    /// The name and the password between two tags, a line each.
    pub(super) fn second_line(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at.min(self.text.len())..self.text.len().min(at + REACH)];
        let mut lines = rest.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty());
        let line = lines.nth(1)?.trim_ascii();
        let start =
            at + memchr::memmem::rfind(&rest[..memchr::memmem::find(rest, line)? + line.len()], line)?;
        (!line.starts_with(b"<")).then(|| Assigned {
            value: start..start + line.len(),
            dress: Dress::Bare,
            file: FileKind::Settings,
        })
    }

    /// `name="X" value="…"`, `"name": "X", "value": "…"`, `name: X` and `value: …` on the next line.
    pub(super) fn value_attribute(&self, at: usize) -> Option<Assigned> {
        let mut at = self.skip_space(at);
        if self.byte(at) == b',' {
            at = self.skip_space(at + 1);
        }
        let quoted = is_quote(self.byte(at));
        at += usize::from(quoted);
        let word = ["value", "defaultvalue", "default", "secretvalue", "plaintext"]
            .iter()
            .find(|w| self.starts_with(at, w))?;
        at += word.len() + usize::from(quoted);
        at = self.skip_blanks(at);
        if !matches!(self.byte(at), b'=' | b':') || at > self.name.end + REACH {
            return None;
        }
        let at = self.skip_blanks(at + 1);
        self.quoted(at).or_else(|| (self.file == FileKind::Settings).then(|| self.bare_line(at)))
    }

    /// `<name>value</name>`, also across an attribute list and `CDATA`.
    pub(super) fn element(&self, at: usize) -> Option<Assigned> {
        let mut at = self.skip_space(at);
        for wrapper in ["<value>", "<![CDATA[", "<string>"] {
            if self.starts_with(at, wrapper) {
                at = self.skip_space(at + wrapper.len());
            }
        }
        let rest = &self.text[at..self.text.len().min(at + LONGEST_VALUE)];
        let end = rest.iter().position(|b| *b == b'<')?;
        let value = rest[..end].strip_suffix(b"]]>").unwrap_or(&rest[..end]).trim_ascii_end();
        Some(Assigned { value: at..at + value.len(), dress: Dress::Quoted, file: FileKind::Markup })
    }

    pub(super) fn element_after_attributes(&self, at: usize) -> Option<Assigned> {
        let rest = &self.text[at..self.text.len().min(at + 96)];
        let close = rest.iter().position(|b| matches!(b, b'>' | b'<' | b'\n' | b'='))?;
        let close = match rest[close] {
            b'>' => close,
            // One attribute more: `<Pass encoding="base64">`.
            b'=' => {
                rest.iter().position(|b| matches!(b, b'>' | b'<' | b'\n')).filter(|c| rest[*c] == b'>')?
            }
            _ => return None,
        };
        // `encoding="crypt"`: it takes another secret to read this one.
        if (close > 0 && rest[close - 1] == b'/')
            || memchr::memmem::find(&rest[..close], b"\"crypt\"").is_some()
        {
            return None;
        }
        self.element(at + close + 1)
    }
}

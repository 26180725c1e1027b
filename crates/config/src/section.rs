//! The one definition of a section, from which everything else is made.
//!
//! ```text
//! section! {
//!     /// What the section is about.
//!     pub struct Health {
//!         /// The manual entry of the key.
//!         interval_minutes: u32 = 5, live, 1..=1440;
//!         ..part: AnotherSection;
//!     }
//! }
//! ```
//!
//! A key has a type, a default, whether a change takes effect `live` or at a `restart`, and what narrows its
//! type. From this come the struct, its default, reading with a default for each key that is not set, what is
//! shown, and the descriptors.

use crate::outline::Outline;
use crate::reader::Reader;

/// When a changed value takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// When the configuration is read again.
    Live,
    /// When the program starts again.
    Restart,
}

pub(crate) trait Section: Default {
    /// The lines of its doc comment.
    const ABOUT: &[&str];
    fn outline(path: &str, outline: &mut Outline);
    fn read(path: &str, reader: &mut Reader<'_>) -> Self;
    /// Every key with its value, in the order of definition.
    fn show(&self, path: &str, out: &mut Vec<Shown>);
}

/// One key with its value.
pub(crate) struct Shown {
    pub(crate) path: String,
    /// As it would be written in the file.
    pub(crate) exact: String,
    /// As people are told of it.
    pub(crate) told: String,
}

macro_rules! section {
    (
        $(#[doc = $about:literal])+
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $key:ident : $kind:ty = $default:expr, $takes:ident $(, $rule:expr)? ; )*
            $( .. $part:ident : $part_kind:ty ; )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $key: $kind, )*
            $( pub $part: $part_kind, )*
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $( $key: $default, )*
                    $( $part: <$part_kind>::default(), )*
                }
            }
        }

        #[allow(unused_variables, reason = "a section may have keys only, or parts only")]
        impl $crate::section::Section for $name {
            const ABOUT: &[&str] = &[$( $about, )+];

            fn outline(path: &str, outline: &mut $crate::outline::Outline) {
                let default = $name::default();
                $(
                    outline.add_key::<$kind>(
                        $crate::outline::join(path, stringify!($key)),
                        &[$( $doc, )+],
                        $crate::section::section!(@takes $takes),
                        &$crate::section::section!(@rule $( $rule )?),
                        &default.$key,
                    );
                )*
                $( outline.add_section::<$part_kind>($crate::outline::join(path, stringify!($part))); )*
            }

            fn read(path: &str, reader: &mut $crate::reader::Reader<'_>) -> $name {
                let default = $name::default();
                $name {
                    $(
                        $key: reader.key::<$kind>(
                            $crate::outline::join(path, stringify!($key)),
                            &$crate::section::section!(@rule $( $rule )?),
                            default.$key,
                        ),
                    )*
                    $( $part: <$part_kind>::read(&$crate::outline::join(path, stringify!($part)), reader), )*
                }
            }

            fn show(&self, path: &str, out: &mut Vec<$crate::section::Shown>) {
                $(
                    out.push($crate::section::Shown {
                        path: $crate::outline::join(path, stringify!($key)),
                        exact: $crate::value::Value::shown(&self.$key),
                        told: $crate::value::Value::told(&self.$key),
                    });
                )*
                $( self.$part.show(&$crate::outline::join(path, stringify!($part)), out); )*
            }
        }
    };
    (@takes live) => { $crate::section::Takes::Live };
    (@takes restart) => { $crate::section::Takes::Restart };
    (@rule) => { Default::default() };
    (@rule $rule:expr) => { $rule };
}
pub(crate) use section;

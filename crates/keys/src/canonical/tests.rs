//! Tables of texts through the three doors, the published vectors, and the round trip as a property.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The one way the tables reach the reader: what comes out as text, or the error's sentence.
fn read(text: impl AsRef<[u8]>) -> Result<String, String> {
    let canonical = parse(text).map_err(|e| e.to_string())?;
    Ok(String::from_utf8(canonical.to_bytes()).unwrap())
}

fn check(text: &str, expected: &str) {
    assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
    assert_eq!(read(expected).as_deref(), Ok(expected), "the encoding of {text} is not its own encoding");
}

fn check_refused(text: impl AsRef<[u8]>, said: &str) {
    let shown = String::from_utf8_lossy(text.as_ref()).into_owned();
    let error = read(text).expect_err(&shown);
    assert!(error.contains(said), "{shown}: {error}");
}

// shows: CON-015
#[test]
fn the_published_vectors_of_rfc_8785_pass() {
    let Some(dir) = vectors() else {
        note("HOLDFAST_TEST_DATA absent: RFC 8785 vectors not run");
        return;
    };
    let mut seen = 0;
    for input in std::fs::read_dir(dir.join("input")).unwrap().map(|entry| entry.unwrap().path()) {
        let name = input.file_name().unwrap();
        let bytes = parse(std::fs::read(&input).unwrap()).unwrap().to_bytes();
        assert_eq!(bytes, std::fs::read(dir.join("output").join(name)).unwrap(), "{name:?}");
        let hex = std::fs::read_to_string(dir.join("outhex").join(name).with_extension("txt")).unwrap();
        let from_hex = |byte| u8::from_str_radix(byte, 16).unwrap();
        assert_eq!(bytes, hex.split_whitespace().map(from_hex).collect::<Vec<_>>(), "{name:?}");
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} vectors in {}", dir.display());
}

fn vectors() -> Option<PathBuf> {
    let beside_checkout = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("HOLDFAST_TEST_DATA").map_or_else(beside_checkout, PathBuf::from);
    Some(data.join("vectors/rfc8785")).filter(|dir| dir.is_dir())
}

#[expect(clippy::print_stderr, reason = "a test that did not run says so")]
fn note(text: &str) {
    eprintln!("{text}");
}

#[test]
fn white_space_goes_and_order_comes() {
    check(" { \"b\" : [ 1 , 2 ] ,\n\t\"a\" : { } } \r\n", r#"{"a":{},"b":[1,2]}"#);
    check("[]", "[]");
    check("null", "null");
    check("\"\"", "\"\"");
    check(r#"{"":0,"10":1,"9":2,"A":3,"a":4,"aa":5}"#, r#"{"":0,"10":1,"9":2,"A":3,"a":4,"aa":5}"#);
}

/// By UTF-16 units a character beyond U+FFFF begins with a surrogate, D800 to DFFF, and so comes before
/// U+E000 to U+FFFF. By code point and by UTF-8 byte it comes after.
#[test]
fn keys_are_ordered_by_utf_16_units() {
    let fullwidth = "{\"\u{ff21}\":1,\"\u{1f511}\":2,\"\u{e000}\":3,\"\u{20ac}\":4,\"z\":5,\"\u{10ffff}\":6,\"\u{d7ff}\":7}";
    let ordered = "{\"z\":5,\"\u{20ac}\":4,\"\u{d7ff}\":7,\"\u{1f511}\":2,\"\u{10ffff}\":6,\"\u{e000}\":3,\"\u{ff21}\":1}";
    check(fullwidth, ordered);
    check(
        "{\"\u{1f511}b\":1,\"\u{1f511}a\":2,\"\u{1f510}\":3}",
        "{\"\u{1f510}\":3,\"\u{1f511}a\":2,\"\u{1f511}b\":1}",
    );
    // At every depth, not only at the top.
    check("[{\"x\":{\"\u{fb01}\":1,\"\u{1d11e}\":2}}]", "[{\"x\":{\"\u{1d11e}\":2,\"\u{fb01}\":1}}]");
}

#[test]
fn strings_are_escaped_only_where_they_must_be() {
    for (text, expected) in [
        (r#""\u0000\u0001\u001f""#, r#""\u0000\u0001\u001f""#),
        (r#""\u0008\u0009\u000a\u000c\u000D""#, r#""\b\t\n\f\r""#),
        (r#""\u0022\u005C\/\u002f""#, r#""\"\\//""#),
        (r#""\u007f\u0080\u2028\ufeff""#, "\"\u{7f}\u{80}\u{2028}\u{feff}\""),
        (r#""\ud83d\udd11""#, "\"\u{1f511}\""),
        (r#""\u00e9""#, "\"é\""),
        // No normalisation: e with an accent and e followed by one are two texts.
        (r#""e\u0301""#, "\"e\u{301}\""),
    ] {
        check(text, expected);
    }
}

#[test]
fn numbers_have_one_spelling() {
    for (text, expected) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0e5", "0"),
        ("1.0", "1"),
        ("10e-1", "1"),
        ("1E2", "100"),
        ("0.1e1", "1"),
        ("1e21", "1e+21"),
        ("1.5e300", "1.5e+300"),
        ("-1e21", "-1e+21"),
        ("0.000001", "0.000001"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("0.00000012", "1.2e-7"),
        ("5e-324", "5e-324"),
        ("2e-324", "0"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("0.1", "0.1"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("0.3000000000000000444", "0.30000000000000004"),
        ("123456.789", "123456.789"),
        ("4.35", "4.35"),
        ("9007199254740992", "9007199254740992"),
        ("-9007199254740992", "-9007199254740992"),
        ("9007199254740991.0", "9007199254740991"),
        ("9007199254740992.0", "9007199254740992"),
        ("9007199254740993.0", "9007199254740992"),
    ] {
        check(text, expected);
    }
}

/// The rows of RFC 8785, appendix B, that our stricter rule on large integers lets in.
#[test]
fn doubles_are_written_as_appendix_b_says() {
    for (bits, expected) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    ] {
        let bytes = from_serialize(&f64::from_bits(bits)).unwrap().to_bytes();
        assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{bits:016x}");
    }
    // Written without exponent, these could not be told from an integer that lost digits.
    for bits in [0x4430_0000_0000_0000, 0x444b_1ae4_d6e2_ef4e, 0x444b_1ae4_d6e2_ef4f] {
        let refused = from_serialize(&f64::from_bits(bits));
        assert!(matches!(refused, Err(CanonicalError::InexactInteger { .. })), "{refused:?}");
    }
}

#[test]
fn integers_that_a_double_cannot_hold_are_refused_with_their_place() {
    check_refused(r#"{"a":[0,{"b c":9007199254740993}]}"#, r#"9007199254740993 at $.a[1]["b c"]"#);
    for literal in [
        "9007199254740994",
        "-9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "100000000000000000000",
        "1000000000000000000000",
        "-123456789012345678901234567890",
        "1e20",
        "9007199254740994.0",
    ] {
        check_refused(literal, "beyond 2^53");
        check_refused(
            format!("[\"-1 \\\" 2e5\",{{\"1\":1.5}},{literal}]"),
            "at $[2] is an integer beyond 2^53",
        );
    }
    // The spelling decides: with an exponent this is a double like any other.
    check("[1000000000000000000000.5,1e21]", "[1e+21,1e+21]");
}

#[test]
fn what_is_not_one_json_text_is_refused() {
    for (text, said) in [
        ("", "not JSON at $"),
        ("{} {}", "trailing characters"),
        ("[1,]", "not JSON at $[1]"),
        ("{\"a\":}", "not JSON at $.a"),
        ("{\"a\":1,\"b\":[true,nul]}", "not JSON at $.b[1] (line 1, column"),
        ("[01]", "not JSON"),
        ("[+1]", "not JSON"),
        ("[.5]", "not JSON"),
        ("[1.]", "not JSON"),
        ("NaN", "not JSON"),
        ("[Infinity]", "not JSON"),
        ("'a'", "not JSON"),
        ("\"a\nb\"", "not JSON"),
        ("// no\n1", "not JSON"),
        ("\u{feff}1", "not JSON"),
        ("{1:2}", "not JSON"),
        (r#"["\ud800"]"#, "not JSON at $[0]"),
        (r#"["\udc00\ud800"]"#, "not JSON at $[0]"),
        (r#"{"\ud83d":1}"#, "not JSON"),
        ("[1,1e400]", "the number 1e400 at $[1] is larger than any double"),
        ("{\"a\":-1e309}", "the number -1e309 at $.a is larger than any double"),
    ] {
        check_refused(text, said);
    }
    check_refused(b"\"ab\xff\"", "not UTF-8 from byte 3 on");
    check_refused(b"\"\xed\xa0\x80\"", "not UTF-8"); // a surrogate, encoded as if it were a character
}

#[test]
fn a_key_that_is_there_twice_is_refused_however_it_is_spelled() {
    check_refused(r#"{"a":1,"b":{"x":1,"y":2,"x":1}}"#, "the key at $.b.x is there twice");
    check_refused(r#"{"a":1,"\u0061":1}"#, "the key at $.a is there twice");
    check(r#"[{"a":1},{"a":1}]"#, r#"[{"a":1},{"a":1}]"#);
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    check(&nested(DEPTH_MAX), &nested(DEPTH_MAX));
    check_refused(nested(DEPTH_MAX + 1), "nested deeper than 64");
    check_refused(nested(100_000), "nested deeper than 64");
    let value = (0..=DEPTH_MAX).fold(json!(0), |inner, _| json!({ "a": inner }));
    assert!(matches!(from_value(&value), Err(CanonicalError::TooDeep { .. })));
    assert!(matches!(from_serialize(&value), Err(CanonicalError::TooDeep { .. })));
    assert!(from_value(&value["a"]).is_ok() && from_serialize(&value["a"]).is_ok());
}

#[test]
fn a_number_that_is_not_finite_is_refused_and_never_null() {
    #[derive(Serialize)]
    struct Measured {
        load: BTreeMap<&'static str, Vec<f64>>,
    }
    for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let measured = Measured { load: BTreeMap::from([("one", vec![0.5, x])]) };
        let error = from_serialize(&measured).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the number at $.load.one[1] is not finite, and JSON has no word for that"
        );
        assert!(from_serialize(&x).is_err() && from_serialize(&Some(x as f32)).is_err());
    }
}

#[test]
fn values_and_types_go_by_the_same_rules_as_texts() {
    let large = (1u64 << 53) + 1;
    for error in [from_value(&json!({ "n": large })), from_serialize(&HashMap::from([("n", large)]))] {
        assert_eq!(
            error.unwrap_err().to_string(),
            parse(format!("{{\"n\":{large}}}")).unwrap_err().to_string()
        );
    }
    for (n, ok) in [(1i128 << 53, true), (-(1 << 53), true), ((1 << 53) + 1, false), (i128::MIN, false)] {
        assert_eq!(from_serialize(&n).is_ok(), ok, "{n}");
    }
    assert!(from_serialize(&u128::MAX).is_err() && from_serialize(&u64::MAX).is_err());
}

#[test]
fn types_become_the_json_that_serde_json_makes_of_them() {
    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Unit,
        Newtype(u8),
        Tuple(u8, bool),
        Struct { a: Option<u8>, b: () },
    }
    #[derive(Serialize)]
    struct Wrapper(char);
    #[derive(Serialize)]
    struct All<'a> {
        kinds: Vec<Kind>,
        wrapper: Wrapper,
        by_number: BTreeMap<i8, &'a [u8]>,
        tuple: (f32, &'a str, u16),
    }
    let all = All {
        kinds: vec![Kind::Unit, Kind::Newtype(1), Kind::Tuple(2, true), Kind::Struct { a: None, b: () }],
        wrapper: Wrapper('é'),
        by_number: BTreeMap::from([(-1, [1, 2].as_slice()), (7, &[])]),
        tuple: (0.5, "x", 9),
    };
    let ours = from_serialize(&all).unwrap();
    assert_eq!(ours, from_value(&serde_json::to_value(&all).unwrap()).unwrap());
    assert!(ours.as_value()["kinds"][2]["tuple"][1] == true);
}

#[test]
fn a_map_that_hands_out_a_key_twice_is_refused() {
    struct Twice;
    impl Serialize for Twice {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_map([("a", 1), ("a", 2)])
        }
    }
    assert_eq!(from_serialize(&[Twice]).unwrap_err().to_string(), "the key at $[0].a is there twice");
    assert!(from_serialize(&BTreeMap::from([((1, 2), 3)])).is_err(), "a key that is no text");
}

/// `preserve_order`, switched on by any crate in the build, would change every object of the house.
#[test]
fn a_json_map_iterates_in_sorted_order() {
    let map: Map<String, Value> = ["b", "a", "c"].into_iter().map(|k| (k.to_owned(), Value::Null)).collect();
    assert_eq!(map.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
}

fn any_json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-(1i64 << 53)..=1 << 53).prop_map(Value::from),
        any::<f64>().prop_filter_map("in (2^53, 1e21)", |x| double(x).map(Value::Number)),
        any::<f32>().prop_filter_map("in (2^53, 1e21)", |x| double(f64::from(x)).map(Value::Number)),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        any::<String>().prop_map(Value::from),
        "[\u{0}-\u{ff}\u{d700}-\u{ffff}]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[a-c\u{e000}\u{ff21}\u{1f511}]{0,3}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_encoding_reads_back_to_itself(value in any_json()) {
        let first = from_value(&value).unwrap();
        let again = parse(first.as_bytes()).unwrap();
        prop_assert_eq!(again.as_bytes(), first.as_bytes());
        prop_assert_eq!(again.as_value(), first.as_value());
        prop_assert_eq!(&from_serialize(&value).unwrap(), &first);
        // However it is laid out, it is the same document.
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        prop_assert_eq!(&parse(pretty).unwrap(), &first);
    }

    #[test]
    fn every_double_is_written_so_that_it_reads_back_or_refused(bits: u64) {
        let x = f64::from_bits(bits);
        match from_serialize(&x) {
            Ok(canonical) => {
                let text = std::str::from_utf8(canonical.as_bytes()).unwrap();
                prop_assert!(text.parse::<f64>().unwrap() == x);
                prop_assert_eq!(parse(text).unwrap(), canonical);
            }
            Err(_) => prop_assert!(!x.is_finite() || ((1u64 << 53) as f64..1e21).contains(&x.abs())),
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused_and_what_is_read_is_stable(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(canonical) = parse(&bytes) {
            prop_assert_eq!(parse(canonical.as_bytes()).unwrap(), canonical);
        }
    }

    #[test]
    fn json_like_text_is_read_or_refused_and_what_is_read_is_stable(text in r#"[\[\]{}:,"0-9eE.+\\ua -]{0,24}"#) {
        if let Ok(canonical) = parse(&text) {
            prop_assert_eq!(parse(canonical.as_bytes()).unwrap(), canonical);
        }
    }
}

//! Quantities, held against the real Go package on random texts. The seed is printed; give a failing one back in
//! `NODELET_TEST_SEED`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a helper that fails fails the test, and the seed is for the reader of a failure"
)]

mod support;

use std::cmp::Ordering;

use nodelet::quantity::Quantity;
use serde_json::json;
use support::oracle::Oracle;

const ROUNDS: usize = 4000;

const SUFFIXES: [&str; 17] = [
    "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K",
];

/// Beyond this, quantities of nodelet are at their bound while those of Go go on.
const BOUND: &str = "170141183460469231731687303715884105727n";

fn seeded() -> fastrand::Rng {
    let seed = match std::env::var("NODELET_TEST_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => fastrand::u64(..),
    };
    println!("NODELET_TEST_SEED={seed}");
    fastrand::Rng::with_seed(seed)
}

fn digits(random: &mut fastrand::Rng, most: usize) -> String {
    let length = random.usize(..=most);
    let zeros = random.usize(..=length);
    (0..length)
        .map(|i| {
            if i < zeros && random.u8(..4) > 0 {
                '0'
            } else {
                random.digit(10)
            }
        })
        .collect()
}

fn suffix(random: &mut fastrand::Rng) -> String {
    match random.u8(..8) {
        0 => format!("e{}", random.i32(-40..40)),
        1 => format!("E{}", random.i32(-12..24)),
        2 => format!("e+{}", random.i32(0..24)),
        _ => random.choice(SUFFIXES).unwrap().to_owned(),
    }
}

fn garbage(random: &mut fastrand::Rng) -> String {
    let alphabet: Vec<char> = "0123456789.+-eEinumkKMGTP x\u{e9}".chars().collect();
    (0..random.usize(..8))
        .map(|_| *random.choice(&alphabet).unwrap())
        .collect()
}

fn number(random: &mut fastrand::Rng) -> String {
    let sign = random.choice(["", "", "", "-", "+"]).unwrap();
    let whole = match random.u8(..10) {
        0 => String::new(),
        1 => digits(random, 30),
        // Around the powers where another suffix begins.
        2 => (1024_u64.pow(random.u32(1..6)) * random.u64(1..8)).to_string(),
        3 => (i64::MAX as u64 - random.u64(..3)).to_string(),
        _ => digits(random, 6),
    };
    let fraction = match random.u8(..6) {
        0 => format!(".{}", digits(random, 24)),
        1 => format!(".{}", digits(random, 3)),
        _ => String::new(),
    };
    format!("{sign}{whole}{fraction}{}", suffix(random))
}

fn text(random: &mut fastrand::Rng) -> String {
    if random.u8(..8) == 0 {
        garbage(random)
    } else {
        number(random)
    }
}

/// What the Go package says; `Err` when it refuses one of the operands.
fn ask(op: &str, a: &str, b: &str) -> Result<serde_json::Value, String> {
    let answer = Oracle::shared().ask(&json!({"op": op, "a": a, "b": b}));
    match answer["error"].as_str() {
        Some(error) => Err(error.to_owned()),
        None => Ok(answer),
    }
}

fn go_compares(a: &str, b: &str) -> Ordering {
    ask("cmp", a, b).unwrap()["cmp"].as_i64().unwrap().cmp(&0)
}

fn at_the_bound(quantity: &Quantity) -> bool {
    let bound = Quantity::parse(BOUND).unwrap();
    *quantity >= bound || *quantity <= Quantity::default().sub(&bound)
}

/// Ours and Go's text of one result. Where they differ it must be for a documented reason.
fn assert_same_text(ours: Quantity, go: &str, context: &str) {
    if at_the_bound(&ours) {
        return;
    }
    let printed = ours.to_string();
    if printed != go {
        // Go drops the suffix of a number that is a multiple of 1000E or of 1024Ei: what is left is too small.
        let whole = ours.value().unsigned_abs();
        let too_large_for_suffixes = whole > 0
            && [10_u128.pow(21), 1 << 70]
                .iter()
                .any(|step| whole.is_multiple_of(*step));
        assert!(
            too_large_for_suffixes,
            "{context}: ours {printed}, Go's {go}"
        );
        assert_eq!(Quantity::parse(&printed), Ok(ours), "{context}");
    }
}

#[test]
fn parsed_and_printed_as_go_does() {
    let mut random = seeded();
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let text = text(&mut random);
        let ours = Quantity::parse(&text);
        let go = ask("parse", &text, "");
        assert_eq!(
            ours.is_ok(),
            go.is_ok(),
            "{text:?}: ours {ours:?}, Go's {go:?}"
        );
        let (Ok(ours), Ok(go)) = (ours, go) else {
            refused += 1;
            continue;
        };
        accepted += 1;
        // Go hands a text back as it was written when it takes it for canonical; adding a zero makes it print anew.
        if go["text"] != text {
            assert_same_text(ours, go["text"].as_str().unwrap(), &text);
        }
        let anew = ask("add", &text, "0").unwrap();
        assert_same_text(ours, anew["text"].as_str().unwrap(), &text);
    }
    assert!(
        accepted > ROUNDS / 2 && refused > ROUNDS / 20,
        "{accepted} accepted, {refused} refused"
    );
}

#[test]
fn compared_as_go_does() {
    let mut random = seeded();
    let mut equal = 0;
    for _ in 0..ROUNDS {
        let a = text(&mut random);
        let b = if random.u8(..4) == 0 {
            Quantity::parse(&a).map_or_else(|_| text(&mut random), |a| a.to_string())
        } else {
            text(&mut random)
        };
        let (Ok(ours_a), Ok(ours_b)) = (Quantity::parse(&a), Quantity::parse(&b)) else {
            assert!(ask("cmp", &a, &b).is_err(), "{a:?} and {b:?}");
            continue;
        };
        if at_the_bound(&ours_a) || at_the_bound(&ours_b) {
            continue;
        }
        let ordering = ours_a.cmp(&ours_b);
        equal += usize::from(ordering == Ordering::Equal);
        assert_eq!(ordering, go_compares(&a, &b), "{a:?} and {b:?}");
    }
    assert!(equal > ROUNDS / 20, "{equal} pairs were equal");
}

#[test]
fn added_and_subtracted_as_go_does() {
    let mut random = seeded();
    for _ in 0..ROUNDS {
        let (a, b) = (text(&mut random), text(&mut random));
        let (Ok(ours_a), Ok(ours_b)) = (Quantity::parse(&a), Quantity::parse(&b)) else {
            continue;
        };
        if at_the_bound(&ours_a) || at_the_bound(&ours_b) {
            continue;
        }
        for (op, ours) in [("add", ours_a.add(&ours_b)), ("sub", ours_a.sub(&ours_b))] {
            let go = ask(op, &a, &b).unwrap();
            assert_same_text(
                ours,
                go["text"].as_str().unwrap(),
                &format!("{op} {a:?} {b:?}"),
            );
        }
    }
}

#[test]
fn numbers_at_the_bound_are_past_it_for_go_too() {
    for text in ["1e30", "170141183460469231732E9", BOUND] {
        let ours = Quantity::parse(text).unwrap();
        assert_eq!(ours, Quantity::parse(BOUND).unwrap());
        assert_ne!(go_compares(text, BOUND), Ordering::Less, "{text}");
    }
}

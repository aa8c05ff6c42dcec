use super::*;
use proptest::prelude::*;
use serde_json::json;

fn read(text: &str) -> (Node, Vec<String>) {
    let mut faults = Vec::new();
    let node = Node::from_yaml("f.yaml", text, &mut faults);
    (node, faults.iter().map(ToString::to_string).collect())
}

fn scalar(text: &str, plain: bool) -> Value {
    Value::Scalar {
        text: text.to_owned(),
        plain,
    }
}

#[test]
fn values_know_their_line() {
    let text = "# a comment\na: 1\nb:\n  c: 'x'\n  d:\n\nlist:\n- one\n- {e: \"2\"}\ntext: |\n  two\n  lines\n";
    let (root, faults) = read(text);
    assert!(faults.is_empty(), "{faults:?}");
    let at = |node: Option<&Node>| {
        node.map(|node| (node.origin.line, node.value.clone()))
            .unwrap()
    };
    let b = root.get("b").unwrap();
    assert_eq!(at(root.get("a")), (2, scalar("1", true)));
    assert_eq!(b.origin.line, 3);
    assert_eq!(at(b.get("c")), (4, scalar("x", false)));
    assert_eq!(at(b.get("d")), (5, Value::Null));
    assert_eq!(at(root.get("text")), (10, scalar("two\nlines\n", false)));
    let Value::Sequence(items) = &root.get("list").unwrap().value else {
        panic!("not a list")
    };
    assert_eq!(at(items.first()), (8, scalar("one", true)));
    assert_eq!(at(items[1].get("e")), (9, scalar("2", false)));
    assert_eq!(root.origin.source.as_ref(), "f.yaml");
}

#[test]
fn what_is_no_single_document_is_one_fault_with_its_line() {
    for (text, expected) in [
        ("a: 1\nb: [1, 2\n", "f.yaml:2: not YAML: unclosed"),
        ("a: 1\nb: 2\n\tc: 3\n", "f.yaml:2: not YAML: "),
        ("a: \"x\n", "f.yaml:"),
        (
            "a: 1\n---\nb: 2\n",
            "f.yaml:2: a second document; there may be only one",
        ),
        (
            "a:\n  b: &x 1\n  c: *x\n",
            "f.yaml:3: a.c: aliases are not supported; write the value out",
        ),
        ("a: *x\n", "f.yaml:1: not YAML: "),
        ("? [a]\n: 1\n", "f.yaml:1: a key must be a plain word"),
        (
            &format!("{}{}", "[".repeat(40), "]".repeat(40)),
            "f.yaml:1: nested too deeply",
        ),
    ] {
        let (root, faults) = read(text);
        assert_eq!(faults.len(), 1, "{text:?}: {faults:?}");
        assert!(faults[0].starts_with(expected), "{text:?}: {faults:?}");
        assert_eq!(root, Node::empty("f.yaml"), "{text:?}");
    }
}

#[test]
fn a_key_given_twice_is_a_fault_and_reading_goes_on() {
    let (root, faults) = read("a: 1\nb:\n- c: 1\n  c: 2\na: 3\n");
    assert_eq!(
        faults,
        [
            "f.yaml:4: b[0].c: given twice, first on line 3",
            "f.yaml:5: a: given twice, first on line 1"
        ]
    );
    assert_eq!(root.get("a").unwrap().value, scalar("3", true));
}

#[test]
fn nothing_is_an_empty_mapping() {
    for text in ["", "\n", "# only a comment\n"] {
        assert_eq!(read(text), (Node::empty("f.yaml"), Vec::new()), "{text:?}");
    }
}

#[test]
fn null_is_plain() {
    let (root, _) = read("a: null\nb: ~\nc: 'null'\nd: !!str null\ne: ''\n");
    let value = |key| root.get(key).unwrap().value.clone();
    assert_eq!((value("a"), value("b")), (Value::Null, Value::Null));
    assert_eq!(
        (value("c"), value("d")),
        (scalar("null", false), scalar("null", false))
    );
    assert_eq!(value("e"), scalar("", false));
}

#[test]
fn json_is_the_same_tree_without_lines() {
    let json = json!({"a": 1, "b": {"c": "x", "d": null}, "list": [true, 1.5]});
    let from_json = Node::from_json("recording.json", &json);
    let mut faults = Vec::new();
    let text = "a: 1\nb: {c: 'x', d: null}\nlist: [true, 1.5]\n";
    let from_yaml = Node::from_yaml("recording.json", text, &mut faults);
    assert_eq!(without_lines(from_yaml), from_json);
}

fn without_lines(node: Node) -> Node {
    let value = match node.value {
        Value::Sequence(items) => Value::Sequence(items.into_iter().map(without_lines).collect()),
        Value::Mapping(entries) => Value::Mapping(
            entries
                .into_iter()
                .map(|(key, node)| (key, without_lines(node)))
                .collect(),
        ),
        value => value,
    };
    Node {
        origin: Origin {
            line: 0,
            ..node.origin
        },
        value,
    }
}

#[test]
fn a_fault_says_where_it_is() {
    let fault = |line, key: &str| {
        let origin = Origin {
            source: "f.yaml".into(),
            line,
        };
        Fault::new(&origin, key, "wrong").to_string()
    };
    assert_eq!(fault(3, "a.b"), "f.yaml:3: a.b: wrong");
    assert_eq!(fault(0, "a"), "f.yaml: a: wrong");
    assert_eq!(fault(3, ""), "f.yaml:3: wrong");
}

proptest! {
    #[test]
    fn never_panics(any in "(?s).*", close in "([a-c]{1,2}|[\\-:?&*!|>'\"%@{}\\[\\],# \n]|  ){0,40}") {
        let _ = (read(&any), read(&close));
    }
}

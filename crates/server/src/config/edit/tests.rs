//! Edits of rules, seen as text.

use super::*;

const FILE: &str = "\
# My sites.
config = 1

[[site]]
name = \"a\"      # the first
hosts = [\"a.example\"]
origin = \"http://127.0.0.1:3000\"

  # Nothing of the admins.
  [[site.rule]]
  path = \"/admin/**\"   # all of it
  never = true

  # ---- pictures ----

  # Small ones.
  [[site.rule]]
  id = \"small\"
  extension = \".gif\"
  for = \"1m\" # a minute
  # keep the rest
  max_bytes = \"1 MiB\"

[[site]]
name = \"b\"
hosts = [\"b.example\"]
origin = \"http://127.0.0.1:3001\"

# The end.
[log]
access = \"off\"
# Really.
";

fn words(words: &[&str]) -> RuleEdit {
    rule_from_words(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn ids(text: &str, site: &str) -> Vec<String> {
    list_rules(text, site).unwrap().into_iter().map(|r| r.id).collect()
}

/// The comments, in order: none may get lost.
fn comments(text: &str) -> Vec<String> {
    text.lines().filter_map(|l| l.split_once('#').map(|(_, c)| c.trim().to_owned())).collect()
}

#[test]
fn a_rule_is_added_in_the_style_of_its_sisters() {
    let rule = words(&["extension=.jpg", "for=10s", "vary_headers=Accept-Language"]);
    let last = add_rule(FILE, "a", &rule, &Position::Last).unwrap();
    let want = "  max_bytes = \"1 MiB\"\n\n  [[site.rule]]\n  extension = \".jpg\"\n  for = \"10s\"\n  \
                vary_headers = \"Accept-Language\"\n\n[[site]]\nname = \"b\"";
    assert!(last.contains(want), "{last}");
    assert_eq!(ids(&last, "a"), ["r1", "small", "r3"]);
    assert_eq!(comments(&last), comments(FILE));

    let first = add_rule(FILE, "a", &rule, &Position::First).unwrap();
    assert_eq!(ids(&first, "a"), ["r1", "r2", "small"]);
    assert!(first.find(".jpg").unwrap() < first.find("/admin").unwrap(), "{first}");
    assert_eq!(comments(&first), comments(FILE));

    let before = add_rule(FILE, "a", &rule, &Position::Before("small".into())).unwrap();
    assert_eq!(ids(&before, "a"), ["r1", "r2", "small"]);
    let after = add_rule(FILE, "a", &rule, &Position::After("r1".into())).unwrap();
    assert_eq!(before, after);
    assert_eq!(add_rule(FILE, "a", &rule, &Position::At(2)).unwrap(), after);
}

#[test]
fn a_site_without_rules_gets_its_first() {
    let text = add_rule(FILE, "b", &words(&["for=1s"]), &Position::First).unwrap();
    assert_eq!((ids(&text, "a").len(), ids(&text, "b")), (2, vec!["r1".to_owned()]));
    assert!(text.contains("3001\"\n\n[[site.rule]]\nfor = \"1s\"\n\n# The end.\n[log]"), "{text}");
    assert_eq!(comments(&text), comments(FILE));
}

#[test]
fn keys_are_set_where_they_stand() {
    let text = set_rule(FILE, "a", "small", &words(&["for=2m", "hot.threshold=3"])).unwrap();
    assert!(text.contains("  for = \"2m\" # a minute\n"), "{text}");
    assert!(text.contains("  hot = { threshold = 3 }\n"), "{text}");
    assert_eq!(comments(&text), comments(FILE));
    // A lifetime policy takes the other's place; nothing after `=` removes.
    let text = set_rule(FILE, "a", "small", &words(&["never=true", "max_bytes="])).unwrap();
    assert!(
        !text.contains("for =") && !text.contains("max_bytes") && text.contains("  never = true\n"),
        "{text}"
    );
    let text = set_rule(FILE, "a", "r1", &words(&["id=admin"])).unwrap();
    assert_eq!(ids(&text, "a"), ["admin", "small"]);
}

#[test]
fn a_removed_rule_takes_its_own_comments_only() {
    let text = remove_rule(FILE, "a", "small").unwrap();
    assert_eq!(ids(&text, "a"), ["r1"]);
    assert!(text.contains("---- pictures ----") && !text.contains("Small ones"), "{text}");
    assert!(text.contains("all of it"));
    let text = remove_rule(FILE, "a", "r1").unwrap();
    assert_eq!(ids(&text, "a"), ["small"]);
    assert!(!text.contains("admins") && text.contains("---- pictures ----"), "{text}");
    // The last table of a file hands its comments to the end.
    let tail =
        FILE.replace("# The end.\n[log]\naccess = \"off\"\n", "# Far.\n\n[[site.rule]]\nfor = \"1s\"\n");
    let text = remove_rule(&tail, "b", "r1").unwrap();
    assert!(text.contains("# Far.") && text.contains("# Really."), "{text}");
}

#[test]
fn a_moved_rule_keeps_its_comments() {
    let text = move_rule(FILE, "a", "small", &Position::First).unwrap();
    assert_eq!(ids(&text, "a"), ["small", "r2"]);
    let (own, head, other) =
        (text.find("Small ones").unwrap(), text.find("\"small\"").unwrap(), text.find("/admin").unwrap());
    assert!(own < head && head < other, "{text}");
    let mut sorted = (comments(&text), comments(FILE));
    sorted.0.sort();
    sorted.1.sort();
    assert_eq!(sorted.0, sorted.1);
    assert_eq!(move_rule(FILE, "a", "r1", &Position::First).unwrap(), FILE);
    assert_eq!(ids(&move_rule(FILE, "a", "r1", &Position::Last).unwrap(), "a"), ["small", "r2"]);
    assert_eq!(ids(&move_rule(FILE, "a", "r1", &Position::At(2)).unwrap(), "a"), ["small", "r2"]);
}

#[test]
fn rules_are_listed_with_their_lines() {
    let all = list_rules(FILE, "").unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].id, "small");
    assert_eq!(FILE.lines().nth(all[1].line - 1).unwrap().trim(), "[[site.rule]]");
    assert_eq!(all[0].words, ["path = \"/admin/**\"", "never = true"]);
}

#[test]
fn what_would_not_be_accepted_changes_nothing() {
    let refused = |r: Result<String, EditError>| r.unwrap_err().to_string();
    let one = words(&["for=1s"]);
    assert!(refused(add_rule("config = ", "", &one, &Position::Last)).contains("mend them first"));
    assert!(refused(add_rule(FILE, "", &one, &Position::Last)).contains("several sites"));
    assert!(refused(add_rule(FILE, "c", &one, &Position::Last)).contains("there are a, b"));
    assert!(refused(remove_rule(FILE, "b", "r1")).contains("has none"));
    assert!(refused(remove_rule(FILE, "a", "r2")).contains("there are r1, small"));
    assert!(refused(set_rule(FILE, "a", "small", &words(&[]))).contains("nothing to change"));
    let both = words(&["for=1s", "never=true"]);
    assert!(refused(add_rule(FILE, "a", &both, &Position::Last)).contains("cannot hold at once"));
    let inline =
        "config = 1\nsite = [{ default = true, origin = \"http://a\", rule = [{ for = \"1s\" }] }]\n";
    assert!(refused(remove_rule(inline, "", "r1")).contains("one list"));
    assert_eq!(list_rules(inline, "").unwrap()[0].words, ["for = \"1s\""]);
}

#[test]
fn line_endings_of_windows_are_kept() {
    let file = FILE.replace('\n', "\r\n");
    let text = add_rule(&file, "b", &words(&["for=1s"]), &Position::Last).unwrap();
    assert!(text.contains("for = \"1s\"\r\n"));
    assert!(!text.replace("\r\n", "").contains('\n'));
}

#[test]
fn rules_can_be_added_without_a_file() {
    let loaded = crate::config::from_origin("http://127.0.0.1:3000").unwrap();
    let text = add_rule(&loaded.text, "", &words(&["extension=.jpg", "for=10s"]), &Position::Last).unwrap();
    let again = parse(&text, "(command line)").unwrap();
    assert_eq!(again.settings.sites.sites[0].rules.len(), 1);
    let text = remove_rule(&text, "", "r1").unwrap();
    assert_eq!(text, loaded.text);
}

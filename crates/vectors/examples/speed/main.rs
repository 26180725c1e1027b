mod made;
fn main() {
    let _ = made::Kind::of("topics");
}

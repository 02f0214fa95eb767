//! Globs over names of flows.

/// Returns whether a name matches: `*` stands for any characters, `?` for one.
pub fn matches_glob(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut at, mut place) = (0, 0);
    // The last star, and the place up to which it stands for characters.
    let mut star: Option<(usize, usize)> = None;
    while place < name.len() {
        if at < glob.len() && glob[at] == '*' {
            star = Some((at, place));
            at += 1;
        } else if at < glob.len() && (glob[at] == '?' || glob[at] == name[place]) {
            at += 1;
            place += 1;
        } else if let Some((star_at, star_place)) = star {
            star = Some((star_at, star_place + 1));
            at = star_at + 1;
            place = star_place + 1;
        } else {
            return false;
        }
    }
    glob[at..].iter().all(|each| *each == '*')
}

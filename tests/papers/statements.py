"""The numbered places of each paper by kind, read off the papers' texts.

``Section`` holds sections and appendices alike. Numbers that a paper quotes from other papers are not its own
and are left out.
"""

from __future__ import annotations

__all__ = ["STATEMENTS"]

#: Paper -> kind -> numbers.
STATEMENTS: dict[str, dict[str, frozenset[str]]] = {
    paper: {kind: frozenset(numbers.split()) for kind, numbers in kinds.items()}
    for paper, kinds in {
        "concurrent_shuffle": {
            "Theorem": "3.2 3.4 4.1 5.1 C.2 C.3",
            "Corollary": "3.3 3.5 5.2",
            "Lemma": "B.1 B.2 B.3 B.4 B.5 B.6",
            "Definition": "2.1 3.1",
            "Assumption": "C.1",
            "Algorithm": "1 2 3 4",
            "Figure": "1 2",
            "Section": "1 1.1 1.2 2 2.1 2.2 2.3 3 3.1 3.2 4 5 A A.1 A.2 B C",
            "Footnote": "1 2 3 4 5 6 7 8 9 10 11 12 13",
        },
        "shuffle_linear_bandits": {
            "Theorem": "3.2 3.5 4.2 B.1 C.1 E.2 E.3 E.5",
            "Corollary": "3.3 A.4 B.2 B.3 C.2 C.3 E.4 E.6",
            "Lemma": "3.9 A.2 A.4 B.4",
            "Proposition": "4.3 E.7 F.1 F.3",
            "Remark": "3.4 3.6 3.7 3.8 3.10 4.4 A.5 D.2 D.5 F.2 F.4",
            "Claim": "A.6",
            "Definition": "2.1 2.2 2.3 2.4 D.1 D.3 D.4",
            "Assumption": "3.1 4.1 A.1 A.3 E.1",
            "Algorithm": "1 2 3 4 5 6 7",
            "Figure": "1 2",
            "Section": "1 2 2.1 2.2 3 3.1 3.2 3.3 3.4 3.5 4 5 6 "
            "A A.1 B B.1 B.2 B.3 C C.1 C.2 C.3 D E E.1 E.2 E.3 F G",
            "Footnote": "1 2 3 4 5 6 7 8 9 10",
        },
        "distributed_mab": {
            "Theorem": "1 2 3 4 5 6 7",
            "Lemma": "1 2 3 4 5 6 7 8 9 10",
            "Fact": "1 2 3",
            "Proposition": "1",
            "Claim": "1",
            "Remark": "1 2 3 4 5 6 7 8 9",
            "Definition": "1 2 3 4 5 6 7 8 9 10 11",
            "Assumption": "1 2",
            "Algorithm": "1 2 3 4 5",
            "Figure": "1 2 3 4 5",
            "Table": "1",
        },
        "private_online_learning": {
            "Theorem": "2 3 4 5 6 7 10",
            "Corollary": "8 9",
            "Lemma": "11 12 13",
            "Fact": "1 2",
            "Definition": "1",
            "Algorithm": "1 2 3 4",
            "Figure": "1 2 3 4 5 6 7 8 9 10 11 12",
        },
        "glm_bandits": {
            "Theorem": "5.1 6.2 D.3 E.1 I.8 J.1",
            "Corollary": "E.6 L.2 M.1",
            "Lemma": "4.3 6.1 7.1 E.2 E.3 E.4 E.5 E.7 E.8 E.9 E.10 E.11 G.1 G.2 G.3 H.1 H.2 I.4 I.5 I.6 I.7 "
            "J.2 K.1 K.2 L.1 L.3 L.4 L.5 M.2 M.3 O.1 O.2 O.3 O.4 P.1 P.2 Q.1 Q.2 Q.3 Q.4 R.1 S.1 S.2 T.2",
            "Remark": "1.1 4.4 5.2 6.3 6.4 A.1 I.3",
            "Claim": "1 2",
            "Observation": "1 2",
            "Definition": "4.1 T.1",
            "Assumption": "4.2 D.1 D.2 I.1 I.2",
            "Algorithm": "1 2 3 4 5 6 7",
            "Figure": "1",
            "Table": "1 2",
        },
    }.items()
}

"""Reference implementations of published mechanisms and algorithms, to audit, to import, to compare with.

``mechanisms`` has mechanisms and protocols, ``algorithms`` those of online learning by family. Nothing else
in dpaudit imports them: they are programs like a user's own, and are watched, hashed and proved as such.
"""

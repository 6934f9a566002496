"""`Index`: rows on disk that are found by similarity.

Files and what is durable when: `files`, `array_file`, `manifest`, `lock`, `store`. Rows: `ids`,
`row_store`, `segment`. Finding them: `plan`, `search`, `join`.
"""

from kernelight.neighbors.index.index import Index

__all__ = ["Index"]

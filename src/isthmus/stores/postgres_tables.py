"""PostgreSQL with pgvector: a table is written beside, and both are renamed in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import BLOCK, STAMP, Block, Columns, Store, as_vectors


class PostgresTable(Store):
    """A table with a column of vectors and a unique column of ids."""

    def __init__(self, address: str, columns: Columns) -> None:
        psycopg = import_extra("psycopg", "pgvector", "PostgreSQL needs")
        self.sql, self.columns = import_extra("psycopg.sql", "pgvector", "PostgreSQL needs"), columns
        server, _, self.name = address.partition("#")
        self._index, self._failure = self.name, psycopg.Error
        try:
            # Rows are read in one long transaction, and written in another one per block.
            self.connection, self._reader = (psycopg.connect(server, autocommit=True) for _ in range(2))
            for connection in (self.connection, self._reader):
                import_extra("pgvector.psycopg", "pgvector", "PostgreSQL needs").register_vector(connection)
        except psycopg.Error as error:
            # The address may hold a password.
            raise InputError(f"{server.split('@')[-1]}: {str(error).splitlines()[0][:300]}.") from None
        where = "WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
        rows = self.run(
            f"SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute {where} ORDER BY attnum",
            values=[self.name],
        ).fetchall()
        types: dict[str, str] = dict(rows)
        for option, name in (("--vector", columns.vector), ("--id", columns.id)):
            if name not in types:
                got = f"the columns {', '.join(types)}" if types else "no such table"
                raise InputError(f"{option}: expected a column of {self.name}, got {got}.")
        self.names, self.id_type = tuple(types), types[columns.id]
        self.n = self.count()

    def quote(self, *names: str) -> Any:
        """Return identifiers for a query, with commas between."""
        return self.sql.SQL(", ").join(map(self.sql.Identifier, names))

    def run(self, query: str, *parts: Any, values: Any = None) -> Any:
        """Run a query, with identifiers put in for its {}."""
        return self.connection.execute(self.sql.SQL(query).format(*parts), values)

    def count(self) -> int:
        """Return the number of rows of the table."""
        return int(self.run("SELECT count(*) FROM {}", self.quote(self.name)).fetchone()[0])

    def append(self, start: int, block: Block, vectors: FloatArray) -> None:
        """Write a block in one transaction: vectors are sent, the server copies the other columns."""
        id, vector = self.columns.id, self.columns.vector
        with self.connection.transaction():
            self.run("CREATE TEMP TABLE isthmus_block (k {}, v vector) ON COMMIT DROP", self.sql.SQL(self.id_type))
            with self.connection.cursor().copy("COPY isthmus_block FROM STDIN") as copied:
                for row in zip(block.ids, vectors, strict=True):
                    copied.write_row(row)
            names = [name for name in self.names if name != vector]
            self.run(
                "INSERT INTO {} ({}, {}) OVERRIDING SYSTEM VALUE "
                "SELECT {}, b.v FROM {} o JOIN isthmus_block b ON o.{} = b.k ORDER BY b.k",
                self.quote(self.name),
                self.quote(*names),
                self.quote(vector),
                self.sql.SQL(", ").join(self.sql.Identifier("o", name) for name in names),
                self.quote(self._index),
                self.quote(id),
            )

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows by rising ids, as they are at one moment."""
        wanted = [self.columns.id, self.columns.vector, *([self.columns.text] if self.columns.text else [])]
        query = self.sql.SQL("SELECT {} FROM {} ORDER BY {} OFFSET {}").format(
            self.quote(*wanted), self.quote(self.name), self.quote(self.columns.id), self.sql.Literal(start)
        )
        try:
            with self._reader.transaction(), self._reader.cursor("isthmus_rows") as cursor:
                cursor.execute(query)
                while rows := cursor.fetchmany(size):
                    vectors = np.array([row[1].to_numpy() for row in rows], dtype=np.float32)
                    yield Block([row[0] for row in rows], as_vectors(vectors, self.name), rows)
        except self._failure as failure:
            # Who stopped reading, since the server is gone, has an error of his own.
            if not isinstance(failure.__context__, GeneratorExit):
                raise

    def texts(self, block: Block) -> list[str]:
        """Return the column of texts."""
        return [row[2] or "" for row in block.payload] if self.columns.text else []

    def read_stamp(self) -> dict[str, Any]:
        """Read the comment of the column of vectors."""
        found = self.run(
            "SELECT col_description(a.attrelid, a.attnum) FROM pg_attribute a "
            "WHERE a.attrelid = to_regclass(%s) AND a.attname = %s",
            values=[self.name, self.columns.vector],
        ).fetchone()
        text = found[0] if found and found[0] else ""
        return dict(json.loads(text.removeprefix(f"{STAMP}: "))) if text.startswith(STAMP) else {}

    def stamp(self, about: Mapping[str, Any]) -> None:
        """Write the comment of the column of vectors."""
        text = self.sql.Literal(f"{STAMP}: {json.dumps(dict(about))}")
        self.run("COMMENT ON COLUMN {}.{} IS {}", self.quote(self.name), self.quote(self.columns.vector), text)

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> PostgresTable:
        """Open the table beside, with the same columns, defaults, constraints and rights; indexes come at the end."""
        beside = copy(self)
        beside.name = f"{self.name}_new_{run}"
        if self.run("SELECT to_regclass(%s)", values=[beside.name]).fetchone()[0] is None:
            new, old, vector = self.quote(beside.name), self.quote(self.name), self.quote(self.columns.vector)
            with self.connection.transaction():
                self.run("CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING INDEXES)", new, old)
                self.run(f"ALTER TABLE {{}} ALTER {{}} TYPE vector({dimension})", new, vector)
                grants = self.run(
                    "SELECT grantee, privilege_type FROM information_schema.role_table_grants "
                    "WHERE table_name = %s AND grantee <> 'PUBLIC'",
                    values=[self.name],
                ).fetchall()
                for grantee, right in grants:
                    self.run(f"GRANT {right} ON {{}} TO {{}}", new, self.quote(grantee))
                beside.stamp(about)
        return beside

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the name that the old table gets; raise where other tables refer to it."""
        users = self.run(
            "SELECT conrelid::regclass::text FROM pg_constraint WHERE confrelid = to_regclass(%s) AND contype = 'f'",
            values=[self.name],
        ).fetchall()
        if users:
            tables = ", ".join(user[0] for user in users)
            raise InputError(f"{self.name}: tables refer to it ({tables}); drop their keys first.")
        return {"backup": f"{self.name}_before_{run}"}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Build the indexes of the new table, then rename both."""
        new = f"{self.name}_new_{run}"
        with self.connection.transaction():
            defined = self.run("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", values=[self.name])
            for name, text in defined.fetchall():
                head, _, rest = text.partition(" ON ")
                made = head.replace(name, f"{name[:40]}_{run}", 1)
                self.connection.execute(f'{made} ON "{new}" USING {rest.partition(" USING ")[2]}')
            self._rename((self.name, facts["backup"]), (new, self.name))

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Rename both back."""
        if self.read_stamp().get("run") == run:
            with self.connection.transaction():
                self._rename((self.name, f"{self.name}_new_{run}"), (facts["backup"], self.name))

    def _rename(self, *names: tuple[str, str]) -> None:
        for old, new in names:
            self.run("ALTER TABLE {} RENAME TO {}", self.quote(old), self.quote(new))

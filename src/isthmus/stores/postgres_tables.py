"""PostgreSQL with pgvector: a table is written beside, and both are renamed in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._core.validation import FloatArray
from isthmus.exceptions import InputError, import_extra
from isthmus.stores.store import BLOCK, STAMP, Block, Columns, as_vectors


def _to_numpy(vector: Any) -> Any:
    # pgvector before 0.4 returns arrays.
    return vector.to_numpy() if hasattr(vector, "to_numpy") else vector


class PostgresRows:
    """A table beside the index: vectors are sent, and the other columns are copied by the server."""

    def __init__(self, store: PostgresTable, name: str) -> None:
        self._store, self._name = store, name
        self.n = self.count()

    def count(self) -> int:
        """Return the rows of the table."""
        return self._store.count(self._name)

    def append(self, block: Block, vectors: FloatArray) -> None:
        """Write a block in one transaction."""
        store, cursor = self._store, self._store.connection.cursor()
        id, vector = store.columns.id, store.columns.vector
        with store.connection.transaction():
            store.run("CREATE TEMP TABLE isthmus_block (k {}, v vector) ON COMMIT DROP", store.sql.SQL(store.id_type))
            with cursor.copy("COPY isthmus_block FROM STDIN") as copy:
                for row in zip(block.ids, vectors, strict=True):
                    copy.write_row(row)
            names = [name for name in store.names if name != vector]
            store.run(
                "INSERT INTO {} ({}, {}) OVERRIDING SYSTEM VALUE "
                "SELECT {}, b.v FROM {} o JOIN isthmus_block b ON o.{} = b.k ORDER BY b.k",
                store.quote(self._name),
                store.quote(*names),
                store.quote(vector),
                store.sql.SQL(", ").join(store.sql.Identifier("o", name) for name in names),
                store.quote(store.name),
                store.quote(id),
            )
        self.n += len(vectors)

    def read(self, start: int, stop: int) -> tuple[Sequence[Any], FloatArray]:
        """Return ids and vectors of some rows."""
        found = next(self._store.scan(self._name, start, stop - start, stop - start))
        return found.ids, found.vectors


class PostgresTable:
    """A table with a column of vectors and a unique column of ids."""

    warning = ""

    def __init__(self, address: str, columns: Columns) -> None:
        psycopg = import_extra("psycopg", "pgvector", "PostgreSQL needs")
        self.sql, self.columns = import_extra("psycopg.sql", "pgvector", "PostgreSQL needs"), columns
        server, _, self.name = address.partition("#")
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
        self.n = self.count(self.name)
        self.dimension = len(next(self.blocks(size=1)).vectors[0]) if self.n else 0

    def quote(self, *names: str) -> Any:
        """Return identifiers for a query, with commas between."""
        return self.sql.SQL(", ").join(map(self.sql.Identifier, names))

    def run(self, query: str, *parts: Any, values: Any = None) -> Any:
        """Run a query, with identifiers put in for its {}."""
        return self.connection.execute(self.sql.SQL(query).format(*parts), values)

    def count(self, name: str) -> int:
        """Return the number of rows of a table."""
        return int(self.run("SELECT count(*) FROM {}", self.quote(name)).fetchone()[0])

    def scan(self, name: str, start: int, size: int, most: int | None = None) -> Iterator[Block]:
        """Yield blocks of a table by rising ids, as it is at one moment."""
        wanted = [self.columns.id, self.columns.vector, *([self.columns.text] if self.columns.text else [])]
        query = self.sql.SQL("SELECT {} FROM {} ORDER BY {} LIMIT {} OFFSET {}").format(
            self.quote(*wanted),
            self.quote(name),
            self.quote(self.columns.id),
            self.sql.Literal(most),
            self.sql.Literal(start),
        )
        with self._reader.transaction(), self._reader.cursor("isthmus_rows") as cursor:
            cursor.execute(query)
            while rows := cursor.fetchmany(size):
                vectors = np.array([_to_numpy(row[1]) for row in rows], dtype=np.float32)
                yield Block([row[0] for row in rows], as_vectors(vectors, name), rows)

    def blocks(self, start: int = 0, size: int = BLOCK) -> Iterator[Block]:
        """Yield the rows by rising ids."""
        return self.scan(self.name, start, size)

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
        self._comment(self.name, about)

    def _comment(self, name: str, about: Mapping[str, Any]) -> None:
        text = self.sql.Literal(f"{STAMP}: {json.dumps(dict(about))}")
        self.run("COMMENT ON COLUMN {}.{} IS {}", self.quote(name), self.quote(self.columns.vector), text)

    def open_beside(self, run: str, dimension: int, folder: Path, about: Mapping[str, Any]) -> PostgresRows:
        """Open the table beside, with the same columns, defaults, constraints and rights; indexes come at the end."""
        name, vector = f"{self.name}_new_{run}", self.columns.vector
        if self.run("SELECT to_regclass(%s)", values=[name]).fetchone()[0] is None:
            with self.connection.transaction():
                self.run(
                    "CREATE TABLE {} (LIKE {} INCLUDING ALL EXCLUDING INDEXES)",
                    self.quote(name),
                    self.quote(self.name),
                )
                self.run(
                    f"ALTER TABLE {{}} ALTER {{}} TYPE vector({dimension})", self.quote(name), self.quote(vector)
                )
                grants = self.run(
                    "SELECT grantee, privilege_type FROM information_schema.role_table_grants "
                    "WHERE table_name = %s AND grantee <> 'PUBLIC'",
                    values=[self.name],
                ).fetchall()
                for grantee, right in grants:
                    self.run(f"GRANT {right} ON {{}} TO {{}}", self.quote(name), self.quote(grantee))
                self._comment(name, about)
        return PostgresRows(self, name)

    def plan_swap(self, run: str) -> dict[str, Any]:
        """Return the name that the old table gets; raise where other tables refer to it."""
        users = self.run(
            "SELECT conrelid::regclass::text FROM pg_constraint WHERE confrelid = to_regclass(%s) AND contype = 'f'",
            values=[self.name],
        ).fetchall()
        if users:
            raise InputError(
                f"{self.name}: tables refer to it ({', '.join(u[0] for u in users)}); drop their keys first."
            )
        return {"backup": f"{self.name}_before_{run}"}

    def swap(self, run: str, folder: Path, about: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Build the indexes of the new table, then rename both."""
        new = f"{self.name}_new_{run}"
        if self.read_stamp().get("run") == run:
            return
        with self.connection.transaction():
            defined = self.run("SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s", values=[self.name])
            for name, text in defined.fetchall():
                head, _, rest = text.partition(" ON ")
                made = (
                    head.replace(name, f"{name[:40]}_{run}", 1) + f' ON "{new}" USING ' + rest.partition(" USING ")[2]
                )
                self.connection.execute(made)
            self._rename((self.name, facts["backup"]), (new, self.name))

    def restore(self, run: str, facts: Mapping[str, Any]) -> None:
        """Rename both back."""
        if self.read_stamp().get("run") == run:
            with self.connection.transaction():
                self._rename((self.name, f"{self.name}_new_{run}"), (facts["backup"], self.name))

    def _rename(self, *names: tuple[str, str]) -> None:
        for old, new in names:
            self.run("ALTER TABLE {} RENAME TO {}", self.quote(old), self.quote(new))

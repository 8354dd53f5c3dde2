-- Remembers how far a re-planning has come; null: it is done.
update zone_data
set replanned_through = %(through)s, updated_at = %(now)s

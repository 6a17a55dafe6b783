"""The way of a task through NATS, the database and the judge: one verdict, one event, no more."""

import json
import os
import signal

import pytest

from farm import CODE, make_zip, task


def test_a_task_becomes_a_row_and_its_events(farm):
    f = farm()
    f.worker().wait_ready()
    f.put(task())
    f.wait_state("s1", "FINISHED")
    f.wait_settled()
    assert f.row("s1") == ["FINISHED", "AC", "0", "0", "1"]
    running, result = f.events(submit="s1")
    assert (running["type"], running["status"], running["worker_id"]) == ("status_change", "RUNNING", "w1")
    assert (result["type"], result["status"], result["score"]) == ("result", "FINISHED", 100)
    assert result["result"]["accepted_test"] == result["result"]["total_test"] == 1
    assert (result["generation"], result["run_lease"]) == (0, 1)
    assert f.letters() == []

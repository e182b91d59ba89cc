"""libDAI (C++), where its headers are found: rounds of parallel updates, in a program made at run time.

Scores of one variable are factors to it, whose messages are made in each round as well and are not counted.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import cpu_timer
from benchmarks.messages import N_ROUNDS, Problem, check_marginals, problem

MOST_COPIES = 50
HEADERS = [Path(folder) / "dai" / "alldai.h" for folder in ("/usr/include", "/usr/local/include")]

PROGRAM = r"""
#include <dai/alldai.h>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

using namespace dai;

int main() {
    size_t n_values, n_variables, n_factors, n_copies, n_rounds;
    std::cin >> n_values >> n_variables >> n_factors >> n_copies >> n_rounds;
    std::vector<size_t> left(n_factors), right(n_factors);
    for (size_t f = 0; f < n_factors; f++) std::cin >> left[f] >> right[f];
    PropertySet how;
    how.set("maxiter", n_rounds);
    how.set("tol", Real(0));
    how.set("verbose", size_t(0));
    how.set("updates", std::string("PARALL"));
    how.set("logdomain", false);
    how.set("inference", std::string("SUMPROD"));
    std::clock_t taken = 0;
    std::cout.precision(12);
    for (size_t b = 0; b < n_copies; b++) {
        std::vector<Factor> factors;
        Real value;
        for (size_t v = 0; v < n_variables; v++) {
            Factor own{Var(v, n_values)};
            for (size_t k = 0; k < n_values; k++) { std::cin >> value; own.set(k, value); }
            factors.push_back(own);
        }
        for (size_t f = 0; f < n_factors; f++) {
            Factor pair(VarSet(Var(left[f], n_values), Var(right[f], n_values)));
            for (size_t k = 0; k < n_values * n_values; k++) { std::cin >> value; pair.set(k, value); }
            factors.push_back(pair);
        }
        BP passing(FactorGraph(factors), how);
        passing.init();
        std::clock_t start = std::clock();
        passing.run();
        taken += std::clock() - start;
        for (size_t v = 0; v < n_variables; v++) {
            Factor found = passing.belief(Var(v, n_values));
            for (size_t k = 0; k < n_values; k++) std::cout << found[k] << "\n";
        }
    }
    std::cout << double(taken) / CLOCKS_PER_SEC << "\n";
}
"""


def messages_per_second(shape: str, n_copies: int, with_gradient: bool) -> dict:
    """Messages per CPU-second of the rounds alone, in the first graphs."""
    if with_gradient:
        raise NotImplementedError("libDAI's gradients are not measured")
    if not any(header.exists() for header in HEADERS):
        raise FileNotFoundError("dai/alldai.h is not installed, and neither Debian 12 nor PyPI has a package of libDAI")
    if shutil.which("g++") is None:
        raise FileNotFoundError("g++ is not installed")
    whole = problem(shape, n_copies)
    few = min(n_copies, MOST_COPIES)
    given = Problem(whole.scope, whole.own[..., :few], whole.table[..., :few])
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "rounds.cpp", Path(folder) / "rounds"
        source.write_text(PROGRAM, encoding="utf-8")
        with cpu_timer() as compilation:
            call = ["g++", "-O3", "-o", str(program), str(source), "-ldai", "-lgmpxx", "-lgmp"]
            subprocess.run(call, check=True, capture_output=True)
        made = subprocess.run([program], input=_said(given), check=True, capture_output=True, text=True)
    *found, seconds = map(float, made.stdout.split())
    n_values, n_variables, _ = given.own.shape
    check_marginals(np.reshape(found, (few, n_variables, n_values)).transpose(2, 1, 0), given)
    return {
        "messages_per_second": given.n_messages * N_ROUNDS / seconds,
        "first_run_seconds": compilation.seconds,
        "remark": f"; {few} of the graphs",
    }


def _said(given: Problem) -> str:
    """Sizes, scopes, then graph by graph; in a table the value of the first variable changes fastest."""
    n_values, n_variables, n_copies = given.own.shape
    sizes = [n_values, n_variables, given.scope.shape[1], n_copies, N_ROUNDS]
    numbers = [*sizes, *given.scope.T.ravel().tolist()]
    for b in range(n_copies):
        numbers += np.exp(given.own[..., b].T.astype(np.float64)).ravel().tolist()
        numbers += np.exp(given.table[..., b].transpose(2, 1, 0).astype(np.float64)).ravel().tolist()
    return " ".join(map(str, numbers))

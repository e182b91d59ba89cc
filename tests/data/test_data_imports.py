import subprocess
import sys


def test_the_data_layer_loads_no_heavy_package():
    code = (
        "import sys, walkstep.data.readers, walkstep.data.catalogue, walkstep.data.demo, "
        "walkstep.data.tagging_schemes\n"
        "heavy = {'numba', 'jax', 'sklearn', 'polars', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
